import type { Toleration } from "../generated/kubernetes.ts";
import { type FieldError, type FieldPath, invalid, notSupported, word } from "./field-error.ts";
import { validateLabelName } from "./labels.ts";
import { labelValueProblems } from "./names.ts";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const operators = ["Equal", "Exists"];
const numericOperators = ["Lt", "Gt"];

export function validateTolerations(
  tolerations: readonly Toleration[] | undefined,
  field: FieldPath,
): FieldError[] {
  return (tolerations ?? []).flatMap((toleration, index) =>
    validateToleration(toleration, `${field}[${index}]`),
  );
}

function validateToleration(toleration: Toleration, field: FieldPath): FieldError[] {
  const { key = "", operator = "", effect = "", tolerationSeconds } = toleration;
  const errors = key === "" ? [] : validateLabelName(key, `${field}.key`);
  if (key === "" && operator !== "Exists") {
    const detail =
      'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    errors.push(invalid(`${field}.operator`, word(operator), detail));
  }
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    const detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
    errors.push(invalid(`${field}.effect`, word(effect), detail));
  }
  errors.push(...validateOperator(toleration, `${field}.operator`));
  if (effect !== "" && !effects.includes(effect)) {
    errors.push(notSupported(`${field}.effect`, word(effect), effects));
  }
  return errors;
}

function validateOperator(
  { operator = "", value = "" }: Toleration,
  field: FieldPath,
): FieldError[] {
  switch (operator) {
    case "":
    case "Equal": {
      const problems = labelValueProblems(value);
      return problems.length === 0 ? [] : [invalid(field, value, problems.join(";"))];
    }
    case "Exists":
      return value === ""
        ? []
        : [invalid(field, value, "value must be empty when `operator` is 'Exists'")];
    default: {
      const isNumeric = numericOperators.includes(operator);
      const supported = isNumeric ? [...operators, ...numericOperators] : operators;
      return [notSupported(field, word(operator), supported)];
    }
  }
}
