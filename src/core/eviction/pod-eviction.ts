import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { withCondition } from "../status/condition-list.ts";

/** The reason in the status and the event of a pod that had to go. */
export const evictedReason = "Evicted";

/** How long a pod may take to stop when the node cannot wait. */
export const immediateGraceSeconds = 1;

/** A pod that has to go, and what is said of it. */
export interface PodEviction {
  readonly pod: Pod;
  readonly graceSeconds: number;
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** The pod did nothing wrong: others were told that it is disrupted. */
  readonly isDisruption: boolean;
  /** What ran short, as metrics name it. */
  readonly signal: string;
}

/** The status of an evicted pod. */
export function evictedStatus(
  { pod, message, isDisruption }: PodEviction,
  status: PodStatus,
): PodStatus {
  const evicted = { ...status, phase: "Failed", reason: evictedReason, message };
  if (!isDisruption) return evicted;
  return {
    ...evicted,
    conditions: withCondition(status.conditions ?? [], {
      type: "DisruptionTarget",
      status: "True",
      reason: "TerminationByKubelet",
      message,
      observedGeneration: pod.metadata.generation,
    }),
  };
}
