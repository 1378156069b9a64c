import { decideGracePeriod } from "./grace-period.ts";
import { replayActive } from "./replay-active.ts";
import type { WorkerTransition } from "./worker-effect.ts";
import type { Syncing, WorkerState } from "./worker-state.ts";

/**
 * Housekeeping. A pod that no source wants any more is an orphan: its worker drives it to its end alone. A
 * finished worker is forgotten when its pod is an orphan or was created again with the same UID.
 */
export function reconcileWorker(state: WorkerState, desired: boolean): WorkerTransition {
  if (state.state === "finished") {
    const forget = !desired || state.restartRequested;
    return { state: forget ? undefined : state, effects: [] };
  }
  if (desired) return { state, effects: [] };
  switch (state.state) {
    case "wait-to-start":
      return { state: undefined, effects: [] };
    case "syncing":
      return { state: endOrphan(state), effects: [{ kind: "wake" }] };
    case "terminating":
    case "terminated": {
      if (!state.started && !state.observedRuntime) return { state: undefined, effects: [] };
      const pending = state.pending ?? replayActive(state.active);
      return { state: { ...state, deleted: true, pending }, effects: [{ kind: "wake" }] };
    }
  }
}

/** The sync in progress is not cancelled: its end is followed by the termination. */
function endOrphan(state: Syncing): WorkerState {
  return {
    state: "terminating",
    fullName: state.fullName,
    started: true,
    observedRuntime: false,
    acknowledged: false,
    deleted: true,
    evicted: false,
    restartRequested: false,
    graceSeconds: decideGracePeriod(0, state.active.pod, undefined).graceSeconds,
    kills: [],
    active: state.active,
    pending: state.pending ?? replayActive(state.active),
  };
}
