import type { Pod } from "../../model/pod.ts";
import type { PodKillReason } from "../status/killed-status.ts";

/** Reason and message of the event about a pod that ends so that a critical one gets its place. */
export const preemption: { readonly reason: string; readonly message: string } = {
  reason: "Preempting",
  message: "Preempted in order to admit critical pod",
};

export function preemptionKill({ metadata }: Pod): PodKillReason {
  return {
    ...preemption,
    disruption: {
      message: "Pod was preempted by Kubelet to accommodate a critical pod.",
      observedGeneration: metadata.generation,
    },
  };
}
