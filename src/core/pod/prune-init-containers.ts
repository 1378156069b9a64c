import type { ObservedContainer, ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";

/**
 * Ended init containers that need not be kept: all but the last run of each, or every one when the pod starts
 * over in a new sandbox. Without this a crash-looping init container would pile up until garbage collection.
 */
export function initContainersToRemove(
  pod: Pod,
  observed: ObservedPod,
  startsOver: boolean,
): readonly ObservedContainer[] {
  const names = new Set((pod.spec.initContainers ?? []).map(({ name }) => name));
  return [...names].flatMap((name) => {
    const runs = observed.containers.filter((container) => container.name === name);
    if (startsOver) return runs;
    return runs.filter(({ state }) => state === "exited" || state === "unknown").slice(1);
  });
}
