import type { TopologySpreadConstraint } from "../generated/kubernetes.ts";
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  required,
  word,
} from "./field-error.ts";
import { validateLabelSelector } from "./labels.ts";
import { validateMatchLabelKeys } from "./match-label-keys.ts";

const scheduleActions = ["DoNotSchedule", "ScheduleAnyway"];
const inclusionPolicies = ["Honor", "Ignore"];

export function validateTopologySpread(
  constraints: readonly TopologySpreadConstraint[] | undefined,
  field: FieldPath,
): FieldError[] {
  const list = constraints ?? [];
  return list.flatMap((constraint, index) => {
    const at = `${field}[${index}]`;
    const { topologyKey, whenUnsatisfiable: action, labelSelector, matchLabelKeys } = constraint;
    const isRepeated = list
      .slice(index + 1)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === action);
    return [
      ...positive(constraint.maxSkew, `${at}.maxSkew`),
      ...(topologyKey === "" ? [required(`${at}.topologyKey`, "can not be empty")] : []),
      ...oneOf(action, scheduleActions, `${at}.whenUnsatisfiable`),
      ...(isRepeated
        ? [duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${action}}`)]
        : []),
      ...validateMinDomains(constraint, `${at}.minDomains`),
      ...oneOf(constraint.nodeAffinityPolicy, inclusionPolicies, `${at}.nodeAffinityPolicy`),
      ...oneOf(constraint.nodeTaintsPolicy, inclusionPolicies, `${at}.nodeTaintsPolicy`),
      ...validateMatchLabelKeys({ labelSelector, matchLabelKeys }, at),
      ...validateLabelSelector(labelSelector, `${at}.labelSelector`),
    ];
  });
}

function positive(value: number, field: FieldPath): FieldError[] {
  return value > 0 ? [] : [invalid(field, value, "must be greater than zero")];
}

function validateMinDomains(
  { minDomains, whenUnsatisfiable: action }: TopologySpreadConstraint,
  field: FieldPath,
): FieldError[] {
  if (minDomains === undefined) return [];
  const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`;
  return [
    ...positive(minDomains, field),
    ...(action === "DoNotSchedule" ? [] : [invalid(field, minDomains, detail)]),
  ];
}

function oneOf(
  value: string | undefined,
  supported: readonly string[],
  field: FieldPath,
): FieldError[] {
  if (value === undefined || supported.includes(value)) return [];
  return [notSupported(field, word(value), supported)];
}
