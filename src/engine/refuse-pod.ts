import { admitToNode } from "../core/admission/node-admission.ts";
import { podQosClass } from "../core/resource/qos.ts";
import { formatTime } from "../lib/time.ts";
import type { Node, PodStatus } from "../model/generated/kubernetes.ts";
import type { Pod } from "../model/pod.ts";

interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** Why this node cannot run the pod beside the others; undefined when it can. */
export function refusePod(pod: Pod, others: readonly Pod[], node: Node): Refusal | undefined {
  const result = admitToNode(pod, others, node);
  return result.admit ? undefined : { reason: result.reason, message: result.message };
}

/** The final status of a pod that never ran here. */
export function refusedStatus(pod: Pod, { reason, message }: Refusal, nowMs: number): PodStatus {
  return {
    phase: "Failed",
    reason,
    message: `Pod was rejected: ${message}`,
    startTime: formatTime(nowMs),
    qosClass: podQosClass(pod),
  };
}
