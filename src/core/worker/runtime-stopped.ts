import type { ObservedPod } from "../../model/observed.ts";

/** Nothing of the pod runs: no container and no sandbox that could take one. */
export function isRuntimeStopped(observed: ObservedPod): boolean {
  return (
    observed.containers.every(({ state }) => state !== "running") &&
    observed.sandboxes.every(({ state }) => state !== "ready")
  );
}
