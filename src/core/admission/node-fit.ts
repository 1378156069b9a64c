import type { Node } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import { hasFreeHostPorts } from "./host-ports.ts";
import { matchesNode } from "./node-affinity.ts";
import { type InsufficientResource, insufficientResources } from "./resources-fit.ts";
import { toleratesTaint } from "./tolerations.ts";

export const osLabel = "kubernetes.io/os";
export const nodeOs = "linux";

/** Why a pod does not fit: too little of a resource, or a condition that the node does not meet. */
export type FitFailure =
  | ({ readonly kind: "resource" } & InsufficientResource)
  | { readonly kind: "predicate"; readonly name: string; readonly description: string };

/** Everything that keeps a pod from fitting on the node beside the others; empty when it fits. */
export function nodeFitFailures(pod: Pod, otherPods: readonly Pod[], node: Node): FitFailure[] {
  const failures: FitFailure[] = insufficientResources(pod, otherPods, node).map((failure) => ({
    kind: "resource",
    ...failure,
  }));
  const fail = (name: string, description: string): void => {
    failures.push({ kind: "predicate", name, description });
  };
  const nodeName = node.metadata?.name ?? "";
  if (!matchesNode(pod, nodeName, labelsWithOs(node))) {
    fail("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  }
  const { nodeName: wantedNode = "" } = pod.spec;
  if (wantedNode !== "" && wantedNode !== nodeName) {
    fail("NodeName", "node(s) didn't match the requested node name");
  }
  if (!hasFreeHostPorts(pod, otherPods)) {
    fail("NodePorts", "node(s) didn't have free ports for the requested pod ports");
  }
  if (!isStaticPod(pod) && !toleratesEvictions(pod, node)) {
    fail("TaintToleration", "node(s) had taints that the pod didn't tolerate");
  }
  return failures;
}

/** A node that has any labels counts as labelled with its operating system, even before it says so. */
function labelsWithOs(node: Node): Readonly<Record<string, string>> {
  const labels = node.metadata?.labels ?? {};
  return Object.keys(labels).length === 0 ? labels : { ...labels, [osLabel]: nodeOs };
}

/** A pod that is already bound minds only the taints that would evict it. */
function toleratesEvictions({ spec }: Pod, node: Node): boolean {
  return (node.spec?.taints ?? [])
    .filter(({ effect }) => effect === "NoExecute")
    .every((taint) => spec.tolerations?.some((toleration) => toleratesTaint(toleration, taint)));
}
