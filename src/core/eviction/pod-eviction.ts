import type { Pod } from "../../model/pod.ts";
import type { PodKillReason } from "../status/killed-status.ts";

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
  /** The pod did nothing wrong: it gets the condition DisruptionTarget. */
  readonly isDisruption: boolean;
  /** What ran short, as metrics name it. */
  readonly signal: string;
}

export function evictionKill({ pod, message, isDisruption }: PodEviction): PodKillReason {
  const observedGeneration = pod.metadata.generation;
  return {
    reason: evictedReason,
    message,
    disruption: isDisruption ? { message, observedGeneration } : undefined,
  };
}
