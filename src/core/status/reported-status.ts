import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { isMirrorPod } from "../../model/pod-source.ts";
import { findCondition } from "./condition-list.ts";
import { type MergeInput, mergePodStatus } from "./merge-status.ts";
import { normalizeStatus } from "./normalize-status.ts";
import { isTerminalPhase } from "./phase.ts";
import { isSameStatus } from "./same-status.ts";

/** The status to send to the API server: merged, and with the times of what has not changed there. */
export function reportedStatus(input: MergeInput): PodStatus {
  const { apiStatus } = input;
  const merged = mergePodStatus(input);
  return {
    ...merged,
    startTime: apiStatus.startTime ?? merged.startTime,
    conditions: merged.conditions?.map((condition) => {
      const known = findCondition(apiStatus.conditions, condition.type);
      return known?.lastTransitionTime !== undefined && known.status === condition.status
        ? { ...condition, lastTransitionTime: known.lastTransitionTime }
        : condition;
    }),
  };
}

/** Whether the API server shows another status of the pod than the node has. */
export function isMisreported(apiPod: Pod, status: PodStatus): boolean {
  return !isSameStatus(normalizeStatus(apiPod, apiPod.status ?? {}), status);
}

/** Whether the pod may be deleted in the API server: its deletion was requested, and nothing of it is left on the node. */
export function isDeletable(apiPod: Pod, isFinished: boolean): boolean {
  return apiPod.metadata.deletionTimestamp !== undefined && isFinished && !isMirrorPod(apiPod);
}

/** A change that others wait for: traffic and successors of the pod depend on it. */
export function isUrgentChange(before: PodStatus | undefined, after: PodStatus): boolean {
  const ready = (status: PodStatus | undefined) =>
    findCondition(status?.conditions, "Ready")?.status;
  return isTerminalPhase(after.phase) || ready(before) !== ready(after);
}
