import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { compareQuantity, type Quantity } from "../../model/quantity.ts";
import { addResourceLists, type ResourceList, resourceList } from "./resource-list.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

/** The pod's QoS class: the recorded one, which never changes, or else the computed one. */
export function podQosClass(pod: Pod): QosClass {
  switch (pod.status?.qosClass) {
    case "Guaranteed":
      return "Guaranteed";
    case "Burstable":
      return "Burstable";
    case "BestEffort":
      return "BestEffort";
    default:
      return computeQosClass(pod);
  }
}

/** The QoS class by the CPU and memory that the pod, or else each of its containers, asks for. */
export function computeQosClass(pod: Pod): QosClass {
  const scopes = qosScopes(pod);
  const requests = addResourceLists(...scopes.map(({ requests }) => positive(requests)));
  const limits = addResourceLists(...scopes.map(({ limits }) => positive(limits)));
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  const allLimited = scopes.every((scope) => positive(scope.limits).size === 2);
  return allLimited && isEqual(requests, limits) ? "Guaranteed" : "Burstable";
}

/** Ephemeral containers cannot ask for resources. */
function qosScopes(pod: Pod): readonly ResourceRequirements[] {
  if (pod.spec.resources !== undefined) return [pod.spec.resources];
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].map(
    ({ resources }) => resources ?? {},
  );
}

function positive(list: Readonly<Record<string, string>> | undefined): ResourceList {
  return new Map(
    [...resourceList(list)].filter(
      ([name, amount]) => (name === "cpu" || name === "memory") && amount.unscaled > 0n,
    ),
  );
}

function isEqual(a: ReadonlyMap<string, Quantity>, b: ReadonlyMap<string, Quantity>): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([name, amount]) => {
    const other = b.get(name);
    return other !== undefined && compareQuantity(amount, other) === 0;
  });
}
