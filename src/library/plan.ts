// `berth/plan`: what a node would do with manifests, from plain data. Nothing here needs Node: it runs in a browser.
import { parseSysctlAllowlist, safeSysctlNames } from "../core/admission/sysctl-admission.ts";
import type { ManifestPlan } from "../core/plan/manifest-plan.ts";
import { planManifests } from "../core/plan/plan-manifests.ts";
import type { Node } from "../model/generated/kubernetes.ts";
import type { ManifestText } from "../model/manifest/manifest-text.ts";
import type { Pod } from "../model/pod.ts";

export { isAccepted, renderPlan, stepText } from "../cli/plan/render-plan.ts";
export type { FieldChange } from "../core/plan/field-changes.ts";
export type {
  Allotment,
  DocumentPlan,
  FilePlan,
  IgnoredUse,
  ManifestPlan,
  PlanProblem,
} from "../core/plan/manifest-plan.ts";
export type { Step } from "../core/pod/step.ts";
export type { Node } from "../model/generated/kubernetes.ts";
export type { ManifestText } from "../model/manifest/manifest-text.ts";
export type { Pod } from "../model/pod.ts";

/** The node that manifests are planned for. */
export interface PlanNode {
  /**
   * As Kubernetes describes it: `berth describe node -o json` has it. What is used: its name, labels and taints, what it has
   * for pods (`status.allocatable`), its kernel (`status.nodeInfo.kernelVersion`) and its features.
   */
  readonly node: Node;
  /** The pods that it runs already. */
  readonly pods?: readonly Pod[] | undefined;
  /** Kernel settings that its pods may change beside the safe ones, as in --allowed-unsafe-sysctls. */
  readonly allowedUnsafeSysctls?: readonly string[] | undefined;
  /** Whether its kernel enforces AppArmor profiles. */
  readonly hasAppArmor?: boolean | undefined;
}

// Where the kernel is not known it is not why a pod is refused.
const anyKernel = "999.0";

/** What `berth plan` shows of these manifests, YAML or JSON, on a node. What is wrong with them is part of the answer. */
export function planOn(target: PlanNode, manifests: readonly ManifestText[]): ManifestPlan {
  const { node, pods = [], allowedUnsafeSysctls = [], hasAppArmor = true } = target;
  const nodeName = node.metadata?.name;
  if (nodeName === undefined) throw new TypeError("node.metadata.name is needed");
  const kernel = node.status?.nodeInfo?.kernelVersion ?? anyKernel;
  const sysctls = parseSysctlAllowlist([...safeSysctlNames(kernel), ...allowedUnsafeSysctls]);
  if (!sysctls.ok) throw new TypeError(`allowedUnsafeSysctls: ${sysctls.error}`);
  const admission = {
    node,
    sysctls: sysctls.value,
    appArmorEnabled: hasAppArmor,
    fieldRules: "strict",
  } as const;
  return { files: planManifests(manifests, { nodeName, admission, pods }), ignored: [] };
}
