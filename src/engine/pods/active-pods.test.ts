import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { WorkerState } from "../../core/worker/worker-state.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import { ActivePods } from "./active-pods.ts";
import { PodRegistry } from "./pod-registry.ts";
import { PodTable } from "./pod-table.ts";

const pod = buildPod();
const { uid } = pod.metadata;
const waiting: WorkerState = {
  state: "wait-to-start",
  fullName: "web_default",
  pending: { updateType: "create", pod },
};
const ended = { deleted: false, evicted: false, restartRequested: false, acknowledged: true };
const finished: WorkerState = { state: "finished", fullName: "web_default", ...ended };

function setUp() {
  const table = new PodTable();
  const failures: string[] = [];
  const active = new ActivePods(table, {
    attempt: (_during, failed, work) => {
      try {
        return work();
      } catch {
        failures.push(failed);
        return undefined;
      }
    },
  });
  return { table, registry: new PodRegistry(table), active, failures };
}

test.each<{ phase: string; worker: WorkerState | undefined; isActive: boolean }>([
  { phase: "Running", worker: undefined, isActive: true },
  { phase: "Failed", worker: undefined, isActive: false },
  { phase: "Failed", worker: waiting, isActive: true },
  { phase: "Running", worker: finished, isActive: false },
])("a $phase pod whose worker is $worker.state: $isActive", ({ phase, worker, isActive }) => {
  const { table, registry, active } = setUp();
  registry.set(pod);
  const current: PodStatus = { phase };
  const status = { current, version: 1, isFinished: false, startFailures: new Map() };
  table.writer("status").set(uid, status);
  if (worker !== undefined) {
    const rest = { uid, arrival: 1, waitsFor: undefined, lastActedAtMs: 0 };
    const idle = { abort: undefined, running: undefined };
    table.writer("worker").set(uid, { ...rest, ...idle, state: worker });
  }
  expect(active.has(uid)).toBe(isActive);
  expect(active.list()).toEqual(isActive ? [{ ...pod, status: current }] : []);
});

test("a pod that makes room for another is active, but what it holds is promised", () => {
  const { table, registry, active } = setUp();
  registry.set(pod);
  table.writer("admission").set(uid, { roomFor: podUid("critical") });
  expect(active.has(uid)).toBe(true);
  expect(active.list()).toEqual([]);
});

test("a pod that was refused and got no status is not active until it is wanted otherwise", () => {
  const { table, registry, active } = setUp();
  registry.set(pod);
  table.writer("unfit").set(uid, pod);
  expect(active.has(uid)).toBe(false);
  registry.set({ ...pod });
  expect(active.has(uid)).toBe(true);
});

test("a pod that cannot be counted takes nothing from others", () => {
  const { registry, active, failures } = setUp();
  registry.set(pod);
  const containers = [{ name: "bad", resources: { requests: { cpu: "no quantity" } } }];
  registry.set(buildPod({ metadata: { uid: "uid-2", name: "bad" }, spec: { containers } }));
  expect(active.list().map(({ metadata }) => metadata.uid)).toEqual([uid]);
  expect(failures).toEqual(["uid-2"]);
});

test("a pod that no source wants is not active", () => {
  const { registry, active } = setUp();
  registry.set(pod);
  registry.remove(pod);
  expect([active.has(uid), active.has(podUid("unknown"))]).toEqual([false, false]);
});
