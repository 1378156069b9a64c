import type { Requeue } from "./requeue.ts";
import type { PodWork, WorkerState } from "./worker-state.ts";

export type WorkerEffect =
  /** There is something to do: begin as soon as no call is in progress. */
  | { readonly kind: "wake" }
  /** Abort the call in progress. */
  | { readonly kind: "cancel" }
  /** These kills are done. */
  | { readonly kind: "notify"; readonly kills: readonly number[] }
  | { readonly kind: "perform"; readonly work: PodWork }
  | { readonly kind: "requeue"; readonly requeue: Requeue };

/** The worker afterwards (undefined = it is forgotten) and what must be done, in order. */
export interface WorkerTransition {
  readonly state: WorkerState | undefined;
  readonly effects: readonly WorkerEffect[];
}
