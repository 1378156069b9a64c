import type { PodStatus } from "../../model/generated/kubernetes.ts";
import { withCondition } from "./condition-list.ts";

/** What the status of a pod says that the node ends although its source wants it. */
export interface PodKillReason {
  readonly reason: string;
  readonly message: string;
  /** A pod that has succeeded meanwhile stays so; otherwise it has failed whatever its containers did. */
  readonly keepsSuccess?: boolean | undefined;
  /** The pod did nothing wrong: others are notified that it is disrupted. */
  readonly disruption?: Disruption | undefined;
}

interface Disruption {
  readonly message: string;
  /** Of the pod when the decision was made. */
  readonly observedGeneration: number | undefined;
}

/** The status of a pod that is killed for that reason. */
export function killedStatus(
  status: PodStatus,
  { reason, message, keepsSuccess = false, disruption }: PodKillReason,
): PodStatus {
  const phase = keepsSuccess && status.phase === "Succeeded" ? "Succeeded" : "Failed";
  const killed = { ...status, phase, reason, message };
  if (disruption === undefined) return killed;
  return {
    ...killed,
    conditions: withCondition(status.conditions ?? [], {
      type: "DisruptionTarget",
      status: "True",
      reason: "TerminationByKubelet",
      ...disruption,
    }),
  };
}
