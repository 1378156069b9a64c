import type { Container, ContainerResizePolicy } from "../generated/kubernetes.ts";
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  required,
  tooMany,
  word,
} from "./field-error.ts";

const policies = ["Always", "Never", "OnFailure"];
const operators = ["In", "NotIn"];
const actions = ["Restart", "RestartAllContainers"];
const resizableResources = ["cpu", "memory"];
const resizePolicies = ["NotRequired", "RestartContainer"];
const maxRules = 20;
const maxExitCodes = 255;

/** Checks a container's own restart policy and its rules by exit code. */
export function validateRestartPolicy(container: Container, field: FieldPath): FieldError[] {
  const { restartPolicy: policy, restartPolicyRules: rules = [] } = container;
  const errors: FieldError[] = [];
  if (policy === undefined) {
    if (rules.length === 0) return [];
    const detail = "must specify restartPolicy when restart rules are used";
    errors.push(required(`${field}.restartPolicy`, detail));
  } else if (!policies.includes(policy)) {
    errors.push(notSupported(`${field}.restartPolicy`, word(policy), policies));
  }
  if (rules.length > maxRules) {
    errors.push(tooMany(`${field}.restartPolicyRules`, rules.length, maxRules));
  }
  return [...errors, ...validateRules(rules, `${field}.restartPolicyRules`)];
}

function validateRules(
  rules: NonNullable<Container["restartPolicyRules"]>,
  field: FieldPath,
): FieldError[] {
  return rules.flatMap(({ action, exitCodes }, index) => {
    const at = `${field}[${index}]`;
    const errors: FieldError[] = [];
    if (!actions.includes(action)) errors.push(notSupported(`${at}.action`, word(action), actions));
    if (exitCodes === undefined)
      return [...errors, required(`${at}.exitCodes`, "must be specified")];
    const { operator, values = [] } = exitCodes;
    if (!operators.includes(operator)) {
      errors.push(notSupported(`${at}.exitCodes.operator`, word(operator), operators));
    }
    if (values.length > maxExitCodes) {
      errors.push(tooMany(`${at}.exitCodes.values`, values.length, maxExitCodes));
    }
    return errors;
  });
}

/** An init container that names no policy may have no rules; any policy it names is checked like others. */
export function validateInitRestartPolicy(container: Container, field: FieldPath): FieldError[] {
  if (container.restartPolicy !== undefined) return validateRestartPolicy(container, field);
  if ((container.restartPolicyRules ?? []).length === 0) return [];
  const detail = "must specify restartPolicy when restart rules are used";
  return [required(`${field}.restartPolicy`, detail)];
}

/** Checks what a change of resources means for a container. */
export function validateResizePolicies(
  list: readonly ContainerResizePolicy[] | undefined,
  podRestartPolicy: string | undefined,
  field: FieldPath,
): FieldError[] {
  const seen = new Set<string>();
  return (list ?? []).flatMap(({ resourceName, restartPolicy }, index) => {
    const errors: FieldError[] = [];
    if (seen.has(resourceName)) errors.push(duplicate(`${field}[${index}]`, word(resourceName)));
    seen.add(resourceName);
    errors.push(...oneOf(resourceName, resizableResources, field));
    errors.push(...oneOf(restartPolicy, resizePolicies, field));
    if (podRestartPolicy === "Never" && restartPolicy !== "NotRequired") {
      const detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
      errors.push(invalid(field, word(restartPolicy), detail));
    }
    return errors;
  });
}

function oneOf(value: string, supported: readonly string[], field: FieldPath): FieldError[] {
  if (value === "") return [required(field)];
  return supported.includes(value) ? [] : [notSupported(field, word(value), supported)];
}
