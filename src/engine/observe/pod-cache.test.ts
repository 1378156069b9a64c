import { expect, test } from "vitest";
import { emptyObservedPod } from "../../model/observed.ts";
import { PodCache } from "./pod-cache.ts";

const signal = new AbortController().signal;
const older = emptyObservedPod("1", "older", "ns");
const newer = emptyObservedPod("1", "newer", "ns");

function newCache(): PodCache {
  return new PodCache(() => undefined);
}

test("an unknown pod is empty once everything was listed after the wanted time", async () => {
  const cache = newCache();
  const waiting = cache.getNewerThan("1", 10, signal);
  cache.noteListing(9);
  cache.noteListing(11);
  expect(await waiting).toEqual(emptyObservedPod("1", "", ""));
});

test("a read that began before the stored one does not replace it", () => {
  const cache = newCache();
  cache.set("1", newer, 2);
  cache.set("1", older, 1);
  expect(cache.get("1")).toBe(newer);
});

test("a listing makes no stored state newer", async () => {
  const cache = newCache();
  cache.set("1", older, 1);
  const waiting = cache.getNewerThan("1", 5, signal);
  cache.noteListing(6);
  cache.set("1", newer, 7);
  expect((await waiting).name).toBe("newer");
});

test("whoever waits is told why a read failed", async () => {
  const cache = newCache();
  const waiting = cache.getNewerThan("1", 5, signal);
  cache.set("1", new Error("broken"), 6);
  await expect(waiting).rejects.toThrow("broken");
});

test("waiting ends when it is aborted, before or meanwhile", async () => {
  const cache = newCache();
  const controller = new AbortController();
  const waiting = cache.getNewerThan("1", 5, controller.signal);
  controller.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await expect(cache.getNewerThan("1", 5, controller.signal)).rejects.toThrow("enough");
});

test("a deleted pod is unknown again", () => {
  const cache = newCache();
  cache.set("1", older, 1);
  cache.delete("1");
  expect(cache.get("1")).toEqual(emptyObservedPod("1", "", ""));
});

test("a follower is told of every state that is stored, until it stops", () => {
  const cache = newCache();
  const told: string[] = [];
  const unfollow = cache.follow("1", ({ name }) => told.push(name));
  cache.set("1", newer, 2);
  cache.set("1", older, 1);
  cache.set("2", emptyObservedPod("2", "other", "ns"), 3);
  cache.set("1", new Error("broken"), 4);
  expect(told).toEqual(["newer"]);
  unfollow();
  cache.set("1", older, 5);
  expect(told).toEqual(["newer"]);
});

test("who stops following leaves the next follower alone", () => {
  const cache = newCache();
  const told: string[] = [];
  const unfollow = cache.follow("1", () => undefined);
  cache.follow("1", ({ name }) => told.push(name));
  unfollow();
  cache.set("1", newer, 1);
  expect(told).toEqual(["newer"]);
});

test("a pod that the runtime is slow to tell of is not taken for one that does not exist", async () => {
  const cache = newCache();
  cache.noteUnread("1");
  const waiting = cache.getNewerThan("1", 5, signal);
  cache.noteListing(6);
  expect(() => cache.get("1")).toThrow("not told");
  expect(cache.isNewerThan("1", 5)).toBe(false);
  cache.set("1", newer, 7);
  expect(await waiting).toBe(newer);
});
