import { expect, test } from "vitest";
import { podUid, runtimeContainerId } from "../../model/ids.ts";
import { emptyObservedPod, type ObservedPod } from "../../model/observed.ts";
import { PodTable } from "../pods/pod-table.ts";
import { ObservedPods } from "./observed-pods.ts";
import type { RuntimeListing } from "./runtime-listing.ts";

const uid1 = podUid("1");

const signal = new AbortController().signal;
const older = emptyObservedPod(uid1, "older", "ns");
const newer = emptyObservedPod(uid1, "newer", "ns");

function newPods(): ObservedPods {
  return new ObservedPods(new PodTable(), { read: () => undefined });
}

/** Lists one sandbox of pod 1, or nothing. */
function listing(...ids: readonly string[]): RuntimeListing {
  const sandboxes = ids.map((id) => ({ id }));
  const pod = { sandboxes, containers: [], listedAtMs: 0 };
  return {
    pods: new Map(ids.length === 0 ? [] : [[uid1, pod]]),
    podOfId: new Map(ids.map((id) => [id, uid1])),
    keys: new Map(ids.length === 0 ? [] : [[uid1, "ns/a"]]),
  };
}

function withSandbox(id: string): ObservedPod {
  const sandbox = { id, state: "ready", createdAtMs: 1, attempt: 0, network: "pod" } as const;
  return { ...emptyObservedPod(uid1, "a", "ns"), ips: ["10.0.0.1"], sandboxes: [sandbox] };
}

test("an unknown pod is empty once everything was listed after the wanted time", async () => {
  const pods = newPods();
  const waiting = pods.getNewerThan(uid1, 10, signal);
  pods.endListing(9);
  pods.endListing(11);
  expect(await waiting).toEqual(emptyObservedPod(uid1, "", ""));
});

test("a read that began before the stored one does not replace it", () => {
  const pods = newPods();
  pods.set(uid1, newer, 2);
  pods.set(uid1, older, 1);
  expect(pods.get(uid1)).toBe(newer);
});

test("a listing makes no stored state newer", async () => {
  const pods = newPods();
  pods.set(uid1, older, 1);
  const waiting = pods.getNewerThan(uid1, 5, signal);
  pods.endListing(6);
  pods.set(uid1, newer, 7);
  expect((await waiting).name).toBe("newer");
});

test("a waiter gets the error of a read that failed", async () => {
  const pods = newPods();
  const waiting = pods.getNewerThan(uid1, 5, signal);
  pods.set(uid1, new Error("broken"), 6);
  await expect(waiting).rejects.toThrow("broken");
});

test("waiting ends when it is aborted, before or meanwhile", async () => {
  const pods = newPods();
  const controller = new AbortController();
  const waiting = pods.getNewerThan(uid1, 5, controller.signal);
  controller.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await expect(pods.getNewerThan(uid1, 5, controller.signal)).rejects.toThrow("enough");
});

test("a follower gets every state that is stored, until it stops", () => {
  const pods = newPods();
  const seen: string[] = [];
  const unfollow = pods.follow(uid1, ({ name }) => seen.push(name));
  pods.set(uid1, newer, 2);
  pods.set(uid1, older, 1);
  pods.set(podUid("2"), emptyObservedPod(podUid("2"), "other", "ns"), 3);
  pods.set(uid1, new Error("broken"), 4);
  expect(seen).toEqual(["newer"]);
  unfollow();
  pods.set(uid1, older, 5);
  expect(seen).toEqual(["newer"]);
});

test("who stops following leaves the next follower alone", () => {
  const pods = newPods();
  const seen: string[] = [];
  const unfollow = pods.follow(uid1, () => undefined);
  pods.follow(uid1, ({ name }) => seen.push(name));
  unfollow();
  pods.set(uid1, newer, 1);
  expect(seen).toEqual(["newer"]);
});

test("a pod that was listed is not taken for absent until it was read", async () => {
  const pods = newPods();
  const waiting = pods.getNewerThan(uid1, 5, signal);
  expect(pods.beginListing(listing("s1"), 6)).toEqual(["1"]);
  expect(pods.noteLate([uid1])).toEqual(["ns/a"]);
  expect(pods.noteLate([uid1])).toEqual([]);
  pods.endListing(6);
  expect(() => pods.get(uid1)).toThrow("not reported");
  expect([pods.isNewerThan(uid1, 5), pods.has(uid1)]).toEqual([false, true]);
  pods.set(uid1, new Error("broken"), 7);
  await expect(waiting).rejects.toThrow("broken");
  expect(pods.has(uid1)).toBe(true);
  expect(pods.set(uid1, emptyObservedPod(uid1, "", ""), 8)).toBe(true);
  expect([pods.has(uid1), pods.get(uid1).uid]).toEqual([false, "1"]);
});

test("a read that began before the pod was listed does not say that it is absent", async () => {
  const pods = newPods();
  pods.set(uid1, emptyObservedPod(uid1, "", ""), 1);
  const waiting = pods.getNewerThan(uid1, 3, signal);
  pods.beginListing(listing("s1"), 6);
  expect(pods.set(uid1, emptyObservedPod(uid1, "", ""), 5)).toBe(false);
  expect([pods.has(uid1), pods.isNewerThan(uid1, 3)]).toEqual([true, false]);
  const found = withSandbox("s1");
  expect(pods.set(uid1, found, 7)).toBe(true);
  expect(await waiting).toBe(found);
});

test("a listing names the pods that must be read: those that changed, came or went", () => {
  const pods = newPods();
  pods.set(uid1, withSandbox("s1"), 1);
  expect(pods.beginListing(listing("s1"), 2)).toEqual([]);
  expect(pods.beginListing(listing("s1", "s2"), 3)).toEqual(["1"]);
  expect([pods.podOf("s2"), pods.find(uid1)?.sandboxes.length]).toEqual(["1", 1]);
  expect(pods.beginListing(listing(), 4)).toEqual(["1"]);
  expect(pods.podOf("s1")).toBeUndefined();
});

test("a failed read leaves the state and the addresses as they were last read", () => {
  const pods = newPods();
  pods.set(uid1, withSandbox("s1"), 1);
  pods.set(uid1, new Error("broken"), 2);
  expect(pods.find(uid1)?.ips).toEqual(["10.0.0.1"]);
  expect(() => pods.get(uid1)).toThrow("broken");
  expect(pods.set(uid1, emptyObservedPod(uid1, "a", "ns"), 3)).toBe(true);
  expect([pods.find(uid1), pods.get(uid1).ips]).toEqual([undefined, ["10.0.0.1"]]);
});

test("how a container ended is kept until the runtime does not list it any more", () => {
  const pods = newPods();
  const exit = { exitCode: 3, finishedAt: 5n };
  pods.noteExit(uid1, runtimeContainerId("c1"), exit);
  pods.noteExit(uid1, runtimeContainerId("c2"), exit);
  pods.beginListing(listing("s1", "c1"), 6);
  expect([
    pods.exitOf(uid1, runtimeContainerId("c1")),
    pods.exitOf(uid1, runtimeContainerId("c2")),
  ]).toEqual([exit, undefined]);
});
