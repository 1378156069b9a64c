import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { type AdmissionResult, rejected } from "../admission/admission.ts";
import { withCondition } from "../status/condition-list.ts";

const message = "Pod was terminated in response to imminent node shutdown.";

/** Why the node is not ready while it goes down. */
export const shutdownProblem = "node is shutting down";

/** What a pod is told that comes too late. */
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

/** The status of a pod that ends because the machine does; success stays success. */
export function shutdownStatus({ metadata }: Pod, status: PodStatus): PodStatus {
  return {
    ...status,
    phase: status.phase === "Succeeded" ? "Succeeded" : "Failed",
    reason: "Terminated",
    message,
    conditions: withCondition(status.conditions ?? [], {
      type: "DisruptionTarget",
      status: "True",
      reason: "TerminationByKubelet",
      message,
      observedGeneration: metadata.generation,
    }),
  };
}
