import { isStaticPod } from "../../model/pod-source.ts";
import { isTerminalPhase } from "../status/phase.ts";
import type { PodSubject, SpecifiedPod } from "./pod-update.ts";
import type { WorkerTransition } from "./worker-effect.ts";
import type {
  ActiveUpdate,
  PendingUpdate,
  PodWork,
  Terminated,
  Terminating,
  WorkerState,
} from "./worker-state.ts";

/** The worker is free: it takes the newest update, if there is one and the pod may start. */
export function beginWork(state: WorkerState, mayStart: boolean): WorkerTransition {
  switch (state.state) {
    case "wait-to-start":
      if (!mayStart) return waits(state);
      return perform(
        {
          state: "syncing",
          fullName: state.fullName,
          active: activeOf({ pod: state.pending.pod }, state.pending),
        },
        syncWork(state.pending),
      );
    case "syncing": {
      const { pending, ...rest } = state;
      if (pending === undefined) return { state, effects: [] };
      return perform(
        { ...rest, active: activeOf({ pod: pending.pod }, pending, state.active) },
        syncWork(pending),
      );
    }
    case "terminating":
    case "terminated":
      return beginEnding(state, mayStart);
    case "finished":
      return { state, effects: [] };
  }
}

function beginEnding(state: Terminating | Terminated, mayStart: boolean): WorkerTransition {
  const { pending, ...rest } = state;
  if (pending === undefined) return { state, effects: [] };
  const { pod, requestedAtMs } = pending;
  if (pod === undefined) {
    const { runningPod, updateType } = pending;
    return perform(
      { ...rest, active: activeOf({ runningPod }, pending, state.active) },
      { kind: "terminate-runtime", updateType, runningPod, requestedAtMs },
    );
  }
  const hadTurn = state.started || isTerminalPhase(pod.status?.phase);
  if (!hadTurn && isStaticPod(pod)) {
    // Neither with this agent nor with an earlier one, so there is nothing to stop and nothing to clean up.
    const { fullName, deleted, evicted, restartRequested, active } = state;
    const acknowledged = state.state === "terminated" || state.acknowledged;
    const finished = { fullName, deleted, evicted, restartRequested, active, acknowledged };
    return { state: { state: "finished", ...finished }, effects: [] };
  }
  if (!state.started && !mayStart) return waits(state);
  const begun = { ...rest, started: true, active: activeOf({ pod }, pending, state.active) };
  if (state.state === "terminated") return perform(begun, { kind: "clean-up", pod, requestedAtMs });
  const { graceSeconds, updateType } = pending;
  return perform(begun, { kind: "terminate", updateType, pod, graceSeconds, requestedAtMs });
}

function waits(state: WorkerState): WorkerTransition {
  return { state, effects: [{ kind: "requeue", requeue: { kind: "backoff" } }] };
}

function perform(state: WorkerState, work: PodWork): WorkerTransition {
  return { state, effects: [{ kind: "perform", work }] };
}

function syncWork(pending: PendingUpdate<SpecifiedPod>): PodWork {
  const { updateType, pod, mirrorPod, requestedAtMs } = pending;
  return { kind: "sync", updateType, pod, mirrorPod, requestedAtMs };
}

/** Updates add up: what the newest one leaves open stays as it was. */
function activeOf<Subject extends PodSubject>(
  subject: Subject,
  { mirrorPod, graceSeconds }: PendingUpdate,
  active?: ActiveUpdate,
): ActiveUpdate<Subject> {
  return {
    ...subject,
    mirrorPod: mirrorPod ?? active?.mirrorPod,
    graceSeconds: graceSeconds ?? active?.graceSeconds,
  };
}
