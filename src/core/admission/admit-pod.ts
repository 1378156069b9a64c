import type { FieldRules } from "../../model/fields/refused-uses.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { hasPodLevelResources } from "../resource/pod-resources.ts";
import { type AdmissionResult, rejected } from "./admission.ts";
import { admitAppArmor } from "./app-armor-admission.ts";
import { admitFeatures } from "./feature-admission.ts";
import { admitFields } from "./field-admission.ts";
import { admitWithPreemption } from "./preemption.ts";
import { admitSysctls, type SysctlAllowlist } from "./sysctl-admission.ts";

/** What a node can do for pods. */
export interface AdmissionFacts {
  readonly node: Node;
  readonly sysctls: SysctlAllowlist;
  readonly appArmorEnabled: boolean;
  /** The feature gates that decide whether a field is honoured, of those that are on. */
  readonly fieldRules: FieldRules;
  /** Unless false, pods may have resources of their own. */
  readonly podLevelResources?: boolean | undefined;
}

/** Whether a pod is taken, and the pods that end before it starts. */
export interface PodAdmissionDecision {
  readonly result: AdmissionResult;
  readonly victims: readonly Pod[];
}

/** Whether the node can run a pod beside the others; the first check that refuses it says why. */
export function admitPod(
  pod: Pod,
  otherPods: readonly Pod[],
  { node, sysctls, appArmorEnabled, fieldRules, podLevelResources }: AdmissionFacts,
): PodAdmissionDecision {
  const byFields = admitFields(pod, fieldRules);
  if (!byFields.admit) return { result: byFields, victims: [] };
  const bySysctls = admitSysctls(pod, sysctls);
  if (!bySysctls.admit) return { result: bySysctls, victims: [] };
  const byNode = admitWithPreemption(pod, otherPods, node);
  if (!byNode.result.admit) return byNode;
  const byAppArmor = admitAppArmor(pod, appArmorEnabled);
  if (!byAppArmor.admit) return { result: byAppArmor, victims: [] };
  if (podLevelResources === false && hasPodLevelResources(pod)) {
    const message = "PodLevelResources feature gate is disabled";
    return { result: rejected("PodLevelResourcesNotSupported", message), victims: [] };
  }
  const byFeatures = admitFeatures(pod, node.status?.declaredFeatures ?? []);
  return { result: byFeatures, victims: byFeatures.admit ? byNode.victims : [] };
}
