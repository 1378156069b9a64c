import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { withCondition } from "../status/condition-list.ts";

/** What is said of a pod that ends so that a critical one gets its place. */
export const preemption: { readonly reason: string; readonly message: string } = {
  reason: "Preempting",
  message: "Preempted in order to admit critical pod",
};

/** The status of a pod that has to make room. */
export function preemptedStatus({ metadata }: Pod, status: PodStatus): PodStatus {
  return {
    ...status,
    phase: "Failed",
    ...preemption,
    conditions: withCondition(status.conditions ?? [], {
      type: "DisruptionTarget",
      status: "True",
      reason: "TerminationByKubelet",
      message: "Pod was preempted by Kubelet to accommodate a critical pod.",
      observedGeneration: metadata.generation,
    }),
  };
}
