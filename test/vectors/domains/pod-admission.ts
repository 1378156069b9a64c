import type { Node } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { admitToNode } from "../../kit/admit-to-node.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly pod: Pod;
  readonly otherPods: readonly Pod[] | null;
  readonly node: Node;
}

export const podAdmission: VectorDomain = vectorDomain<Input>("pod-admission", (input) => {
  const result = admitToNode(input.pod, input.otherPods ?? [], input.node);
  return { reason: "", message: "", ...result };
});
