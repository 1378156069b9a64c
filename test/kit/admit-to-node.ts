import { type AdmissionResult, admitted } from "../../src/core/admission/admission.ts";
import { fitRejection, nodeMismatch } from "../../src/core/admission/node-admission.ts";
import { nodeFitFailures } from "../../src/core/admission/node-fit.ts";
import type { Node } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";

/** Whether a pod fits on the node beside the others, with nothing preempted for it, as upstream's answers were recorded. */
export function admitToNode(pod: Pod, otherPods: readonly Pod[], node: Node): AdmissionResult {
  const mismatch = nodeMismatch(pod, node);
  if (mismatch !== undefined) return mismatch;
  const [failure] = nodeFitFailures(pod, otherPods, node);
  return failure === undefined ? admitted : fitRejection(failure);
}
