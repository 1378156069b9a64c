import { expect, test } from "vitest";
import { shareReads } from "./share-reads.ts";

test("those who ask during a read share the next one, which begins after their call", async () => {
  let content = 0;
  let reads = 0;
  const read = shareReads(async () => {
    reads += 1;
    const found = content;
    await Promise.resolve();
    return found;
  });
  const first = read();
  content = 1;
  const others = Array.from({ length: 100 }, () => read());
  expect(await first).toBe(0);
  expect(new Set(await Promise.all(others))).toEqual(new Set([1]));
  expect(reads).toBe(2);
});

test("a read that fails costs only those who shared it", async () => {
  let fails = true;
  const read = shareReads(() =>
    fails ? Promise.reject(new Error("gone")) : Promise.resolve("there"),
  );
  const first = read();
  const second = read();
  await expect(first).rejects.toThrow("gone");
  await expect(second).rejects.toThrow("gone");
  fails = false;
  expect(await read()).toBe("there");
});
