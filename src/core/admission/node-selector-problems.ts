import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
} from "../../model/generated/kubernetes.ts";
import {
  type FieldError,
  type FieldPath,
  formatFieldError,
  invalid,
  notSupported,
  word,
} from "../../model/validate/field-error.ts";
import { labelValueProblems, qualifiedNameProblems } from "../../model/validate/names.ts";

const expressionOperators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
const fieldOperators = ["In", "NotIn"];

const largestInt64 = 9223372036854775807n;
const smallestInt64 = -9223372036854775808n;

/** Why a term cannot be understood. */
export function nodeSelectorTermProblems(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  path: FieldPath,
): readonly string[] {
  return [
    ...matchExpressions.flatMap((requirement, index) =>
      expressionErrors(requirement, `${path}.matchExpressions[${index}]`),
    ),
    ...matchFields.flatMap((requirement, index) =>
      fieldErrors(requirement, `${path}.matchFields[${index}]`),
    ),
  ].map(formatFieldError);
}

function expressionErrors(
  { key, operator, values = [] }: NodeSelectorRequirement,
  path: FieldPath,
): readonly FieldError[] {
  if (!expressionOperators.includes(operator)) {
    return [notSupported(`${path}.operator`, word(operator), expressionOperators)];
  }
  return [
    ...joined(`${path}.key`, key, qualifiedNameProblems(key)),
    ...valuesErrors(operator, values, `${path}.values`),
    ...values.flatMap((value, index) =>
      joined(`${path}.values[${index}][${key}]`, value, labelValueProblems(value)),
    ),
  ];
}

function valuesErrors(
  operator: string,
  values: readonly string[],
  path: FieldPath,
): readonly FieldError[] {
  const wrong = (detail: string): FieldError => invalid(path, listed(values), detail);
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length > 0) return [];
      return [wrong("for 'in', 'notin' operators, values set can't be empty")];
    case "Exists":
    case "DoesNotExist":
      if (values.length === 0) return [];
      return [wrong("values set must be empty for exists and does not exist")];
    default: {
      const isOne = values.length === 1;
      const notIntegers = values.flatMap((value, index) =>
        integerOf(value) === undefined
          ? [
              invalid(
                `${path}[${index}]`,
                value,
                "for 'Gt', 'Lt' operators, the value must be an integer",
              ),
            ]
          : [],
      );
      return isOne
        ? notIntegers
        : [wrong("for 'Gt', 'Lt' operators, exactly one value is required"), ...notIntegers];
    }
  }
}

function fieldErrors(
  { operator, values = [] }: NodeSelectorRequirement,
  path: FieldPath,
): readonly FieldError[] {
  if (!fieldOperators.includes(operator)) {
    return [notSupported(`${path}.operator`, word(operator), fieldOperators)];
  }
  if (values.length === 1) return [];
  return [invalid(`${path}.values`, listed(values), "must have one element")];
}

/** All that is wrong with one value as one error. */
function joined(path: FieldPath, value: string, problems: readonly string[]): FieldError[] {
  return problems.length === 0 ? [] : [invalid(path, value, problems.join("; "))];
}

function listed(values: readonly string[]): { readonly json: unknown } {
  return { json: values.length === 0 ? null : values };
}

/** A signed decimal integer of 64 bits; undefined for any other text. */
export function integerOf(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace("+", ""));
  return value >= smallestInt64 && value <= largestInt64 ? value : undefined;
}
