import { beginWork } from "./begin-work.ts";
import { completeWork } from "./complete-work.ts";
import type { PodUpdate } from "./pod-update.ts";
import { reconcileWorker } from "./reconcile-worker.ts";
import { updateWorker } from "./update-worker.ts";
import type { WorkerTransition } from "./worker-effect.ts";
import type { PodWork, PodWorkOutcome, WorkerState } from "./worker-state.ts";

export type WorkerEvent =
  /** An update of the pod. `runtimeStopped`: the runtime is known to run nothing of it. */
  | { readonly kind: "update"; readonly update: PodUpdate; readonly runtimeStopped: boolean }
  /** The worker is free. `mayStart`: what the start gate says of the pod. */
  | { readonly kind: "begin"; readonly mayStart: boolean }
  /** The worker is about to stop containers. */
  | { readonly kind: "acknowledge" }
  | { readonly kind: "complete"; readonly work: PodWork["kind"]; readonly outcome: PodWorkOutcome }
  /** Housekeeping. `desired`: some source wants the pod. */
  | { readonly kind: "reconcile"; readonly desired: boolean };

/** All of a pod worker's decisions: what an event makes of its state. */
export function transitionWorker(
  state: WorkerState | undefined,
  event: WorkerEvent,
): WorkerTransition {
  if (event.kind === "update") return updateWorker(state, event.update, event.runtimeStopped);
  if (state === undefined) return { state, effects: [] };
  switch (event.kind) {
    case "begin":
      return beginWork(state, event.mayStart);
    case "acknowledge":
      return {
        state: state.state === "terminating" ? { ...state, acknowledged: true } : state,
        effects: [],
      };
    case "complete":
      return completeWork(state, event.work, event.outcome);
    case "reconcile":
      return reconcileWorker(state, event.desired);
  }
}
