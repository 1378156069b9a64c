import type { ActiveUpdate, PendingUpdate } from "./worker-state.ts";

/** The last wish once more, for when the pod must move on and nobody brings a newer one. */
export function replayActive(active: ActiveUpdate | undefined): PendingUpdate | undefined {
  return active === undefined ? undefined : { ...active, updateType: "sync" };
}
