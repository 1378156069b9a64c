import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { podUid } from "../../model/ids.ts";
import { emptyObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { configSourceAnnotation } from "../../model/pod-source.ts";
import type { PodUpdate } from "./pod-update.ts";
import { transitionWorker, type WorkerEvent } from "./transition.ts";
import type { WorkerEffect } from "./worker-effect.ts";
import type { WorkerState } from "./worker-state.ts";

const pod: Pod = buildPod({
  metadata: { name: "a", namespace: "ns", uid: podUid("1") },
  spec: { containers: [], terminationGracePeriodSeconds: 30 },
});
const evicted = { reason: "Evicted", message: "" };
const begin: WorkerEvent = { kind: "begin", mayStart: true };

function update(wanted: Partial<PodUpdate>): WorkerEvent {
  const filled = { updateType: "update", pod, ...wanted } as PodUpdate;
  return { kind: "update", update: filled, runtimeStopped: false };
}

function live(...events: readonly WorkerEvent[]): {
  state: WorkerState | undefined;
  effects: readonly WorkerEffect[];
} {
  let state: WorkerState | undefined;
  let effects: readonly WorkerEffect[] = [];
  for (const event of events) ({ state, effects } = transitionWorker(state, event));
  return { state, effects };
}

test("an unknown pod has nothing to begin, complete or reconcile", () => {
  const outcome = { kind: "done", terminal: true } as const;
  for (const event of [
    begin,
    { kind: "acknowledge" },
    { kind: "complete", work: "sync", outcome },
    { kind: "reconcile", desired: true },
  ] as const) {
    expect(transitionWorker(undefined, event)).toEqual({ state: undefined, effects: [] });
  }
});

test("a mirror pod stays known when an update brings none", () => {
  const mirrorPod = { ...pod, metadata: { ...pod.metadata, uid: podUid("mirror") } };
  const { state } = live(update({ mirrorPod }), begin, update({}), begin);
  expect(state).toMatchObject({ state: "syncing", active: { mirrorPod } });
});

test.each([
  { shown: { running: {} }, runtimeStopped: false, work: "terminate" },
  { shown: { running: {} }, runtimeStopped: true, work: "terminate" },
  { shown: { terminated: { exitCode: 0 } }, runtimeStopped: false, work: "terminate" },
  { shown: { terminated: { exitCode: 0 } }, runtimeStopped: true, work: "clean-up" },
])(
  "a static pod that failed in an agent's earlier life, with a sidecar shown as $shown, of which nothing runs: $runtimeStopped: $work",
  ({ shown, runtimeStopped, work }) => {
    const sidecar = { name: "s", image: "", imageID: "", ready: false, restartCount: 0 };
    const failed: Pod = {
      ...pod,
      metadata: { ...pod.metadata, annotations: { [configSourceAnnotation]: "file" } },
      status: { phase: "Failed", initContainerStatuses: [{ ...sidecar, state: shown }] },
    };
    const met = { ...update({ updateType: "create", pod: failed }), runtimeStopped };
    const { effects } = live(met, begin);
    expect(effects).toMatchObject([{ kind: "perform", work: { kind: work } }]);
  },
);

test("a pod known only to the runtime ends with the spec that its worker knows", () => {
  const runningPod = emptyObservedPod(podUid("1"), "a", "ns");
  const kill = update({ updateType: "kill", pod: undefined, runningPod });
  expect(live(update({}), begin, kill, begin).effects).toEqual([
    {
      kind: "perform",
      work: {
        kind: "terminate",
        updateType: "kill",
        pod,
        graceSeconds: 30,
        requestedAtMs: undefined,
      },
    },
  ]);
});

test("updates that replace each other keep the time of the oldest", () => {
  const { effects } = live(update({ requestedAtMs: 5 }), update({ requestedAtMs: 9 }), begin);
  expect(effects).toMatchObject([{ kind: "perform", work: { requestedAtMs: 5 } }]);
});

test("the newest reason wins, and one that says nothing changes nothing", () => {
  const { state } = live(
    update({ updateType: "kill", kill: { reason: { reason: "Preempting", message: "" } } }),
    update({ updateType: "kill", kill: { reason: evicted } }),
    update({ updateType: "kill" }),
  );
  expect(state).toMatchObject({ state: "terminating", reason: evicted });
});
