import type {
  Affinity,
  NodeAffinity,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  PodAntiAffinity,
} from "../generated/kubernetes.ts";
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidForEach,
  required,
  word,
} from "./field-error.ts";
import { validateLabelName, validateLabelSelector } from "./labels.ts";
import { validateMatchLabelKeys } from "./match-label-keys.ts";
import { dnsLabelProblems, dnsSubdomainProblems, labelValueProblems } from "./names.ts";

const hard = "requiredDuringSchedulingIgnoredDuringExecution";
const soft = "preferredDuringSchedulingIgnoredDuringExecution";
const badOperator = "not a valid selector operator";

export function validateAffinity(affinity: Affinity | undefined, field: FieldPath): FieldError[] {
  return [
    ...validateNodeAffinity(affinity?.nodeAffinity, `${field}.nodeAffinity`),
    ...validatePodAffinity(affinity?.podAffinity, `${field}.podAffinity`),
    ...validatePodAffinity(affinity?.podAntiAffinity, `${field}.podAntiAffinity`),
  ];
}

function validateNodeAffinity(affinity: NodeAffinity | undefined, field: FieldPath): FieldError[] {
  const terms = affinity?.[hard]?.nodeSelectorTerms;
  const termsField = `${field}.${hard}.nodeSelectorTerms`;
  return [
    ...(terms?.length === 0
      ? [required(termsField, "must have at least one node selector term")]
      : []),
    ...(terms ?? []).flatMap((term, index) =>
      validateNodeTerm(term, true, `${termsField}[${index}]`),
    ),
    ...(affinity?.[soft] ?? []).flatMap(({ weight, preference }, index) => {
      const at = `${field}.${soft}[${index}]`;
      return [
        ...validateWeight(weight, `${at}.weight`),
        ...validateNodeTerm(preference, false, `${at}.preference`),
      ];
    }),
  ];
}

function validateWeight(weight: number, field: FieldPath): FieldError[] {
  return weight > 0 && weight <= 100 ? [] : [invalid(field, weight, "must be in the range 1-100")];
}

function validateNodeTerm(
  { matchExpressions, matchFields }: NodeSelectorTerm,
  areValuesChecked: boolean,
  field: FieldPath,
): FieldError[] {
  return [
    ...(matchExpressions ?? []).flatMap((requirement, index) =>
      validateNodeLabel(requirement, areValuesChecked, `${field}.matchExpressions[${index}]`),
    ),
    ...(matchFields ?? []).flatMap((requirement, index) =>
      validateNodeField(requirement, `${field}.matchFields[${index}]`),
    ),
  ];
}

function validateNodeLabel(
  { key, operator, values = [] }: NodeSelectorRequirement,
  areValuesChecked: boolean,
  field: FieldPath,
): FieldError[] {
  return [
    ...validateNodeOperator(operator, values.length, field),
    ...validateLabelName(key, `${field}.key`),
    ...(areValuesChecked ? values : []).flatMap((value, index) =>
      invalidForEach(`${field}.values[${index}]`, value, labelValueProblems(value)),
    ),
  ];
}

function validateNodeOperator(operator: string, count: number, field: FieldPath): FieldError[] {
  switch (operator) {
    case "In":
    case "NotIn":
      return count > 0
        ? []
        : [required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
    case "Exists":
    case "DoesNotExist": {
      const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      return count === 0 ? [] : [forbidden(`${field}.values`, detail)];
    }
    case "Gt":
    case "Lt": {
      const detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
      return count === 1 ? [] : [required(`${field}.values`, detail)];
    }
    default:
      return [invalid(`${field}.operator`, word(operator), badOperator)];
  }
}

/** The only field of a node that can be selected is its name. */
function validateNodeField(
  { key, operator, values = [] }: NodeSelectorRequirement,
  field: FieldPath,
): FieldError[] {
  const errors: FieldError[] = [];
  if (operator !== "In" && operator !== "NotIn") {
    errors.push(invalid(`${field}.operator`, word(operator), badOperator));
  } else if (values.length !== 1) {
    const detail =
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    errors.push(required(`${field}.values`, detail));
  }
  if (key !== "metadata.name") {
    return [...errors, invalid(`${field}.key`, key, "not a valid field selector key")];
  }
  return [
    ...errors,
    ...values.flatMap((value, index) =>
      invalidForEach(`${field}.values[${index}]`, value, dnsSubdomainProblems(value)),
    ),
  ];
}

function validatePodAffinity(
  affinity: PodAffinity | PodAntiAffinity | undefined,
  field: FieldPath,
): FieldError[] {
  return [
    ...(affinity?.[hard] ?? []).flatMap((term, index) =>
      validatePodTerm(term, `${field}.${hard}[${index}]`),
    ),
    ...(affinity?.[soft] ?? []).flatMap(({ weight, podAffinityTerm }, index) => {
      const at = `${field}.${soft}[${index}]`;
      return [
        ...validateWeight(weight, `${at}.weight`),
        ...validatePodTerm(podAffinityTerm, `${at}.podAffinityTerm`),
      ];
    }),
  ];
}

function validatePodTerm(term: PodAffinityTerm, field: FieldPath): FieldError[] {
  const { labelSelector, namespaceSelector, namespaces, topologyKey } = term;
  return [
    ...validateLabelSelector(labelSelector, `${field}.labelSelector`),
    ...validateLabelSelector(namespaceSelector, `${field}.namespaceSelector`),
    ...(namespaces ?? []).flatMap((name) =>
      invalidForEach(`${field}.namespace`, name, dnsLabelProblems(name)),
    ),
    ...validateMatchLabelKeys(term, field),
    ...(topologyKey === "" ? [required(`${field}.topologyKey`, "can not be empty")] : []),
    ...validateLabelName(topologyKey, `${field}.topologyKey`),
  ];
}
