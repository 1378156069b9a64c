import type { ActiveUpdate, PendingUpdate } from "./worker-state.ts";

/** The last update again, for when the pod must move on without a newer one. */
export function replayActive(active: ActiveUpdate | undefined): PendingUpdate | undefined {
  return active === undefined ? undefined : { ...active, updateType: "sync" };
}
