import { expect, test } from "vitest";
import { ExpiringCache } from "./expiring-cache.ts";

function world(maxEntries = 10) {
  const state = { nowMs: 0, asked: 0 };
  const cache = new ExpiringCache<number>(() => state.nowMs, maxEntries);
  const get = (key: string, keepMs: number): Promise<number> =>
    cache.get(key, () => Promise.resolve({ value: ++state.asked, keepMs }));
  return { state, cache, get };
}

test("an answer counts for as long as it said", async () => {
  const { state, get } = world();
  expect([await get("a", 100), await get("a", 100)]).toEqual([1, 1]);
  state.nowMs = 100;
  expect(await get("a", 100)).toBe(2);
});

test("an answer that is not to be kept is asked for each time", async () => {
  const { get } = world();
  expect([await get("a", 0), await get("a", 0)]).toEqual([1, 2]);
});

test("the same question is asked once at a time", async () => {
  const { get } = world();
  expect(await Promise.all([get("a", 0), get("a", 0), get("b", 0)])).toEqual([1, 1, 2]);
});

test("a failure reaches everybody who waits and is not kept", async () => {
  const { cache, get } = world();
  const failing = (): Promise<never> => Promise.reject(new Error("no"));
  const both = [cache.get("a", failing), cache.get("a", failing)];
  expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual([
    "rejected",
    "rejected",
  ]);
  expect(await get("a", 1)).toBe(1);
});

test("the oldest answer makes room", async () => {
  const { get } = world(2);
  await get("a", 100);
  await get("b", 100);
  await get("c", 100);
  expect(await get("b", 100)).toBe(2);
  expect(await get("a", 100)).toBe(4);
});
