import type { PodCondition, PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { findCondition, isKubeletCondition, withCondition } from "./condition-list.ts";
import { unreadyByPhaseCondition } from "./conditions.ts";
import { isTerminalPhase } from "./phase.ts";
import { withTransitionTime } from "./transition-time.ts";

export interface MergeInput {
  readonly pod: Pod;
  /** As the API server has it. */
  readonly apiStatus: PodStatus;
  /** As the node has it. */
  readonly status: PodStatus;
  readonly mayHaveRunningContainers: boolean;
  readonly nowMs: number;
}

/**
 * The status to send: the node's own, with what others wrote kept. A terminal phase is held back while a
 * container may still run, since others take it as the release of what the pod holds.
 */
export function mergePodStatus(input: MergeInput): PodStatus {
  const { apiStatus, status, mayHaveRunningContainers } = input;
  const becomesTerminal = isTerminalPhase(status.phase) && !isTerminalPhase(apiStatus.phase);
  const shown = becomesTerminal && mayHaveRunningContainers ? apiStatus : status;
  const merged: PodStatus = {
    ...status,
    conditions: mergedConditions(input, becomesTerminal && !mayHaveRunningContainers),
    resourceClaimStatuses: apiStatus.resourceClaimStatuses,
    extendedResourceClaimStatus: apiStatus.extendedResourceClaimStatus,
    nodeAllocatableResourceClaimStatuses: apiStatus.nodeAllocatableResourceClaimStatuses,
    phase: shown.phase,
    reason: shown.reason,
    message: shown.message,
  };
  return isTerminalPhase(merged.phase) ? unreadyStatus(input, merged) : merged;
}

/** Others' conditions, then the node's own. */
function mergedConditions(
  { apiStatus, status, nowMs }: MergeInput,
  sendsDisruption: boolean,
): PodCondition[] {
  const others = (apiStatus.conditions ?? []).filter(({ type }) => !isKubeletCondition(type));
  return (status.conditions ?? []).reduce((merged, condition) => {
    if (isKubeletCondition(condition.type)) return [...merged, condition];
    // The pod's disruption is reported together with its end, and dates from then.
    if (condition.type !== "DisruptionTarget" || !sendsDisruption) return merged;
    const first = findCondition(status.conditions, condition.type) ?? condition;
    return withCondition(merged, withTransitionTime(first, apiStatus.conditions, nowMs));
  }, others);
}

/** A terminal pod is never reported as ready, even before its containers' readiness was computed again. */
function unreadyStatus({ pod, nowMs }: MergeInput, status: PodStatus): PodStatus {
  const types = ["ContainersReady", "Ready"] as const;
  const { conditions = [], phase } = status;
  if (!types.some((type) => findCondition(conditions, type)?.status === "True")) return status;
  return {
    ...status,
    conditions: types.reduce<readonly PodCondition[]>((list, type) => {
      const condition = unreadyByPhaseCondition(pod, type, phase);
      return withCondition(list, withTransitionTime(condition, list, nowMs));
    }, conditions),
  };
}
