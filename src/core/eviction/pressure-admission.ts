import type { Pod } from "../../model/pod.ts";
import { type AdmissionResult, admitted } from "../admission/admission.ts";
import { toleratesTaint } from "../admission/tolerations.ts";
import { isCriticalPod } from "../resource/critical.ts";
import { podQosClass } from "../resource/qos.ts";
import { evictedReason } from "./pod-eviction.ts";
import type { NodePressure } from "./signal.ts";

const memoryPressureTaint = {
  key: "node.kubernetes.io/memory-pressure",
  effect: "NoSchedule",
} as const;

/** Whether a node that is short of something takes a pod. */
export function admitUnderPressure(pod: Pod, pressures: readonly NodePressure[]): AdmissionResult {
  if (pressures.length === 0 || isCriticalPod(pod)) return admitted;
  if (pressures.every((pressure) => pressure === "MemoryPressure")) {
    if (podQosClass(pod) !== "BestEffort") return admitted;
    const { tolerations = [] } = pod.spec;
    if (tolerations.some((toleration) => toleratesTaint(toleration, memoryPressureTaint))) {
      return admitted;
    }
  }
  return {
    admit: false,
    reason: evictedReason,
    message: `The node had condition: [${pressures.toSorted().join(" ")}]. `,
  };
}
