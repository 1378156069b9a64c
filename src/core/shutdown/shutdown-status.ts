import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { type AdmissionResult, rejected } from "../admission/admission.ts";
import type { PodKillReason } from "../status/killed-status.ts";

const message = "Pod was terminated in response to imminent node shutdown.";

/** Why the node is not ready while it goes down. */
export const shutdownProblem = "node is shutting down";

/** The status message of a pod that arrives during shutdown. */
export const shutdownRefusal: AdmissionResult = rejected(
  "NodeShutdown",
  "Pod was rejected as the node is shutting down.",
);

/** Whether the pod ended, or was not taken, only because the machine went down: then it is wanted when that is back. */
export function isEndedByShutdown(status: PodStatus | undefined): boolean {
  const { phase, reason } = status ?? {};
  if (phase !== "Failed") return false;
  return reason === "NodeShutdown" || (reason === "Terminated" && status?.message === message);
}

export function shutdownKill({ metadata }: Pod): PodKillReason {
  const disruption = { message, observedGeneration: metadata.generation };
  return { reason: "Terminated", message, keepsSuccess: true, disruption };
}
