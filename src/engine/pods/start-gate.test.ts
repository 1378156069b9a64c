import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { podUid } from "../../model/ids.ts";
import { emptyObservedPod, type ObservedPod } from "../../model/observed.ts";
import { ObservedPods } from "../observe/observed-pods.ts";
import { PodTable, type PodWorker } from "./pod-table.ts";
import { askStartGate } from "./start-gate.ts";

const uidNew = podUid("new");
const uidOld = podUid("old");

const waiting: PodWorker = {
  uid: uidNew,
  state: {
    state: "wait-to-start",
    fullName: "web_prod",
    pending: {
      updateType: "create",
      pod: buildPod({ metadata: { name: "web", namespace: "prod", uid: "new" } }),
    },
  },
  arrival: 1,
  waitsFor: undefined,
  lastActedAtMs: 0,
  abort: undefined,
  running: undefined,
};

/** The pod web in the namespace prod waits to start. */
function setUp() {
  const table = new PodTable();
  const workers = table.writer("worker");
  workers.set(uidNew, waiting);
  const observed = new ObservedPods(table, { read: () => undefined });
  const ask = () => askStartGate(table, uidNew, "web_prod");
  return { table, workers, observed, ask };
}

const sandboxes = [{ id: "s" }];

/** The runtime lists that pod, and it has not been read since. */
function list(observed: ObservedPods, key: string): void {
  const pods = new Map([[uidOld, { sandboxes, containers: [], listedAtMs: 2 }]]);
  observed.beginListing({ pods, podOfId: new Map(), keys: new Map([[uidOld, key]]) }, 2);
}

function seen(name: string, namespace: string, state: "ready" | "notReady"): ObservedPod {
  const sandbox = { id: "s", state, attempt: 0, createdAtMs: 0, network: "pod" } as const;
  return { ...emptyObservedPod(uidOld, name, namespace), sandboxes: [sandbox] };
}

test("a pod waits for those that end to make room for it, and starts when none is left", () => {
  const { table, ask } = setUp();
  const admissions = table.writer("admission");
  admissions.set(uidNew, { roomFrom: ["prod/cache", "dev/batch"] });
  expect(ask()).toEqual({ kind: "room", pods: ["prod/cache", "dev/batch"] });
  admissions.set(uidNew, { roomFrom: [] });
  expect(ask()).toBeUndefined();
  // It makes room for another one.
  admissions.set(uidNew, { roomFor: podUid("critical") });
  expect(ask()).toBeUndefined();
});

test("a pod waits for one of its name that the runtime lists and has not described", () => {
  const { observed, ask } = setUp();
  list(observed, "prod/web");
  expect(ask()).toEqual({ kind: "name", uid: "old", other: "unread" });
  observed.set(uidOld, seen("web", "prod", "notReady"), 3);
  expect(ask()).toBeUndefined();
});

test("a pod that was gone and is listed again is not taken for gone", () => {
  const { observed, ask } = setUp();
  observed.set(uidOld, emptyObservedPod(uidOld, "", ""), 1);
  expect(ask()).toBeUndefined();
  list(observed, "prod/web");
  expect(ask()).toEqual({ kind: "name", uid: "old", other: "unread" });
});

test("a pod waits for one of its name that runs", () => {
  const { observed, ask } = setUp();
  observed.set(uidOld, seen("web", "prod", "ready"), 1);
  expect(ask()).toEqual({ kind: "name", uid: "old", other: "runs" });
  observed.set(uidOld, seen("web", "prod", "notReady"), 2);
  expect(ask()).toBeUndefined();
});

test.each(["web/prod", "prod/web2", "dev/web"])(
  "a pod %s in the runtime keeps another name",
  (key) => {
    const unread = setUp();
    list(unread.observed, key);
    expect(unread.ask()).toBeUndefined();
    const [namespace = "", name = ""] = key.split("/");
    const running = setUp();
    running.observed.set(uidOld, seen(name, namespace, "ready"), 1);
    expect(running.ask()).toBeUndefined();
  },
);

test("the name of a pod that has a worker is its worker's, also while the runtime cannot describe it", () => {
  const { workers, observed, ask } = setUp();
  list(observed, "prod/other");
  expect(ask()).toBeUndefined();
  workers.set(uidOld, { ...waiting, uid: uidOld });
  expect(ask()).toEqual({ kind: "name", uid: "old", other: "unread" });
});

test("a pod waits until what its last life left is removed", () => {
  const { table, ask } = setUp();
  const removals = table.writer("removal");
  removals.set(uidNew, { state: "running", ended: Promise.resolve() });
  expect(ask()).toEqual({ kind: "removal" });
  removals.set(uidNew, { state: "done" });
  expect(ask()).toBeUndefined();
});
