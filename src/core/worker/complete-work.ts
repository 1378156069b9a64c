import { replayActive } from "./replay-active.ts";
import { requeueAfter } from "./requeue.ts";
import type { WorkerTransition } from "./worker-effect.ts";
import type {
  PodWork,
  PodWorkOutcome,
  Syncing,
  Terminated,
  Terminating,
  WorkerState,
} from "./worker-state.ts";

/** A call ended. Success moves the pod on in its life; anything else is tried again later. */
export function completeWork(
  state: WorkerState,
  work: PodWork["kind"],
  outcome: PodWorkOutcome,
): WorkerTransition {
  if (outcome.kind === "done") {
    switch (work) {
      case "sync":
        if (outcome.terminal && (state.state === "syncing" || state.state === "terminating")) {
          return movedOn(endedByItself(state));
        }
        break;
      case "terminate":
        if (state.state === "terminating") return stopped(state);
        break;
      case "terminate-runtime":
        // Only the runtime ever knew the pod: nothing is left to remember.
        return { state: undefined, effects: [] };
      case "clean-up":
        if (state.state === "terminated") return { state: finish(state), effects: [] };
        break;
    }
  }
  return { state, effects: [{ kind: "requeue", requeue: requeueAfter(outcome) }] };
}

function endedByItself(state: Syncing | Terminating): Terminating {
  if (state.state === "terminating") return { ...state, acknowledged: true };
  return {
    state: "terminating",
    fullName: state.fullName,
    started: true,
    observedRuntime: false,
    acknowledged: true,
    deleted: false,
    evicted: false,
    restartRequested: false,
    graceSeconds: 0,
    kills: [],
    active: state.active,
    pending: state.pending ?? replayActive(state.active),
  };
}

function stopped(state: Terminating): WorkerTransition {
  const { fullName, started, observedRuntime, deleted, evicted, restartRequested, active } = state;
  const pending = state.pending ?? replayActive(active);
  const ending = { fullName, started, observedRuntime, deleted, evicted, restartRequested };
  const terminated: Terminated = { state: "terminated", ...ending, active, pending };
  const moved = movedOn(terminated);
  const { kills } = state;
  if (kills.length === 0) return moved;
  return { ...moved, effects: [{ kind: "notify", kills }, ...moved.effects] };
}

function movedOn(state: WorkerState): WorkerTransition {
  return { state, effects: [{ kind: "requeue", requeue: { kind: "immediate" } }] };
}

function finish(state: Terminated): WorkerState {
  const { fullName, deleted, evicted, restartRequested, active } = state;
  const ending = { fullName, deleted, evicted, restartRequested, active };
  return { state: "finished", ...ending, acknowledged: true };
}
