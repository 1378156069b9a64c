import { expect, test } from "vitest";
import { testPodChanges } from "../../../test/kit/pod-parts.ts";
import { testPod } from "../../../test/kit/pods.ts";
import { podUid } from "../../model/ids.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable } from "../pods/pod-table.ts";

const pod = testPod({ containers: [{ name: "web" }], terminationGracePeriodSeconds: 7 });
const { uid } = pod.metadata;

function world() {
  const table = new PodTable();
  const registry = new PodRegistry(table);
  const changes = testPodChanges(table);
  const checkpoints = table.writer("checkpoint");
  const seen: (string | undefined)[][] = [];
  const stop = new AbortController();
  changes.watch(({ type, pod: shown }) => {
    const { deletionTimestamp } = shown.metadata;
    seen.push([type, shown.status?.phase, deletionTimestamp === undefined ? "" : "leaving"]);
  }, stop.signal);
  const setWritten = (phase: string): void => {
    const none = { isInherited: false, isOver: false, isPending: false, hasFailed: false };
    checkpoints.set(uid, { ...none, newest: { phase }, written: { phase } });
  };
  return { table, registry, changes, seen, stop, setWritten };
}

test("a pod is shown with its status from the day it comes until nothing of it is left", () => {
  const { registry, changes, seen, setWritten } = world();
  registry.set(pod);
  changes.noteAdded(pod);
  setWritten("Running");
  changes.noteStatus(uid);
  registry.remove(pod);
  changes.noteRemoved(pod);
  expect(changes.pods().map(({ metadata }) => metadata.deletionGracePeriodSeconds)).toEqual([7]);
  setWritten("Succeeded");
  changes.noteStatus(uid);
  changes.noteGone(uid);
  expect(changes.pods()).toEqual([]);
  changes.noteStatus(uid);
  changes.noteGone(uid);
  expect(seen).toEqual([
    ["ADDED", "Pending", ""],
    ["MODIFIED", "Running", ""],
    ["MODIFIED", "Running", "leaving"],
    ["MODIFIED", "Succeeded", "leaving"],
    ["DELETED", "Succeeded", "leaving"],
  ]);
});

test("a pod that comes back while it is leaving is shown as the one that is wanted", () => {
  const { registry, changes, seen } = world();
  changes.noteRemoved(pod);
  registry.set(pod);
  changes.noteAdded(pod);
  changes.noteUpdated(pod);
  changes.noteGone(uid);
  expect(changes.pods()).toHaveLength(1);
  expect(seen).toEqual([
    ["MODIFIED", "Pending", "leaving"],
    ["ADDED", "Pending", ""],
    ["MODIFIED", "Pending", ""],
  ]);
});

test("pods that are wanted come before those that are leaving", () => {
  const { registry, changes } = world();
  changes.noteRemoved(pod);
  registry.set({ ...pod, metadata: { ...pod.metadata, uid: podUid("uid-2") } });
  expect(changes.pods().map(({ metadata }) => metadata.uid)).toEqual(["uid-2", uid]);
});

test("a watcher that has stopped is no longer notified", () => {
  const { registry, changes, seen, stop } = world();
  stop.abort();
  registry.set(pod);
  changes.noteAdded(pod);
  expect(seen).toEqual([]);
});

test("a Pending pod that may not start yet says why in its message", () => {
  const { table, registry, changes, setWritten } = world();
  registry.set(pod);
  table.writer("worker").set(uid, {
    uid,
    state: { state: "wait-to-start", fullName: "", pending: { updateType: "create", pod } },
    arrival: 1,
    waitsFor: { kind: "room", pods: ["default/db"] },
    lastActedAtMs: 0,
    abort: undefined,
    running: undefined,
  });
  const message = "Waiting for pods that end to make room: default/db";
  expect(changes.show(pod).status).toMatchObject({ phase: "Pending", message });
  setWritten("Failed");
  expect(changes.show(pod).status?.message).toBeUndefined();
});
