import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
} from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { integerOf, nodeSelectorTermProblems } from "./node-selector-problems.ts";

type Labels = Readonly<Record<string, string>>;

/** Whether a node is one of those that the pod's selector and its required affinity ask for. */
export function matchesNode({ spec }: Pod, nodeName: string, labels: Labels): boolean {
  const selector = Object.entries(spec.nodeSelector ?? {});
  if (!selector.every(([key, value]) => labelOf(labels, key) === value)) return false;
  const affinity = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (affinity === undefined) return true;
  return affinity.nodeSelectorTerms.some((term) => matchesTerm(term, nodeName, labels));
}

/** A term that asks for nothing, or that cannot be understood, is met by no node. */
export function matchesTerm(term: NodeSelectorTerm, nodeName: string, labels: Labels): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  if (nodeSelectorTermProblems(term, "").length > 0) return false;
  if (!matchExpressions.every((requirement) => matchesLabels(requirement, labels))) return false;
  return nodeName === "" || matchFields.every((requirement) => matchesField(requirement, nodeName));
}

function matchesLabels(requirement: NodeSelectorRequirement, labels: Labels): boolean {
  const { key, operator, values = [] } = requirement;
  const label = labelOf(labels, key);
  switch (operator) {
    case "In":
      return label !== undefined && values.includes(label);
    case "NotIn":
      return label === undefined || !values.includes(label);
    case "Exists":
      return label !== undefined;
    case "DoesNotExist":
      return label === undefined;
    default:
      return isBeyond(integerOf(label), integerOf(values[0]), operator);
  }
}

function isBeyond(label: bigint | undefined, bound: bigint | undefined, operator: string): boolean {
  if (label === undefined || bound === undefined) return false;
  return operator === "Gt" ? label > bound : label < bound;
}

/** The only field a node can be selected by is its name; any other is empty. */
function matchesField(requirement: NodeSelectorRequirement, nodeName: string): boolean {
  const { key, operator, values = [] } = requirement;
  const isEqual = (key === "metadata.name" ? nodeName : "") === values[0];
  return operator === "In" ? isEqual : !isEqual;
}

function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
