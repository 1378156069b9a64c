import type { Node } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { type AdmissionResult, rejected } from "./admission.ts";
import { type FitFailure, nodeOs, osLabel } from "./node-fit.ts";

/** What keeps a pod from this node whatever else runs on it: room that is made would not help. */
export function nodeMismatch(pod: Pod, node: Node): AdmissionResult | undefined {
  const wantedOs = pod.metadata.labels?.[osLabel];
  if (wantedOs !== undefined && wantedOs !== nodeOs) {
    return rejected(
      "PodOSSelectorNodeLabelDoesNotMatch",
      "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    );
  }
  if (pod.spec.os !== undefined && pod.spec.os.name !== nodeOs) {
    return rejected(
      "PodOSNotSupported",
      "Failed to admit pod as the OS field doesn't match node OS",
    );
  }
  const wantsStrictGroups = pod.spec.securityContext?.supplementalGroupsPolicy === "Strict";
  if (wantsStrictGroups && node.status?.features?.supplementalGroupsPolicy !== true) {
    return rejected(
      "SupplementalGroupsPolicyNotSupported",
      "SupplementalGroupsPolicy=Strict is not supported in this node",
    );
  }
  return undefined;
}

/** The message for a pod that does not fit: the first failure counts. */
export function fitRejection(failure: FitFailure): AdmissionResult {
  if (failure.kind === "predicate") {
    const { name, description } = failure;
    return rejected(name, `Predicate ${name} failed: ${description}`);
  }
  const { resource, requested, used, capacity } = failure;
  return rejected(
    `OutOf${resource}`,
    `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  );
}
