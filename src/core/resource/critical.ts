import type { Pod } from "../../model/pod.ts";
import { isMirrorPod, isStaticPod } from "../../model/pod-source.ts";

const systemCriticalPriority = 2_000_000_000;

/** Whether the node must keep this pod before any other: static and mirror pods, and system priorities. */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || hasCriticalPriority(pod);
}

/** Whether the pod itself says that the node must keep it before others. */
export function hasCriticalPriority({ spec }: Pod): boolean {
  return (spec.priority ?? 0) >= systemCriticalPriority;
}

/** Whether the node itself does not work without this pod. */
export function isNodeCriticalPod(pod: Pod): boolean {
  return isCriticalPod(pod) && pod.spec.priorityClassName === "system-node-critical";
}
