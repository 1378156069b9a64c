import { utf8Length } from "../../lib/utf8.ts";
import type { LabelSelector, LabelSelectorRequirement } from "../generated/kubernetes.ts";
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidForEach,
  required,
  tooLong,
  word,
} from "./field-error.ts";
import { labelValueProblems, qualifiedNameProblems } from "./names.ts";

type Texts = Readonly<Record<string, string>>;

export const maxAnnotationsBytes: number = 256 * 1024;

export function validateLabelName(name: string, field: FieldPath): FieldError[] {
  return invalidForEach(field, name, qualifiedNameProblems(name));
}

export function validateLabels(labels: Texts | undefined, field: FieldPath): FieldError[] {
  return sortedEntries(labels).flatMap(([name, value]) => [
    ...validateLabelName(name, field),
    ...invalidForEach(field, value, labelValueProblems(value)),
  ]);
}

/** Annotation names are label names in any case; together they have a greatest size. */
export function validateAnnotations(
  annotations: Texts | undefined,
  field: FieldPath,
): FieldError[] {
  const errors = sortedEntries(annotations).flatMap(([name]) =>
    invalidForEach(field, name, qualifiedNameProblems(name.toLowerCase())),
  );
  if (textsSize(annotations) > maxAnnotationsBytes)
    errors.push(tooLong(field, maxAnnotationsBytes));
  return errors;
}

/** The bytes of all names and values. */
export function textsSize(texts: Texts | undefined): number {
  return Object.entries(texts ?? {}).reduce(
    (sum, [name, value]) => sum + utf8Length(name) + utf8Length(value),
    0,
  );
}

export function validateLabelSelector(
  selector: LabelSelector | undefined,
  field: FieldPath,
): FieldError[] {
  if (selector === undefined) return [];
  return [
    ...validateLabels(selector.matchLabels, `${field}.matchLabels`),
    ...(selector.matchExpressions ?? []).flatMap((requirement, index) =>
      validateRequirement(requirement, `${field}.matchExpressions[${index}]`),
    ),
  ];
}

function validateRequirement(
  { key, operator, values = [] }: LabelSelectorRequirement,
  field: FieldPath,
): FieldError[] {
  return [
    ...validateOperator(operator, values, field),
    ...validateLabelName(key, `${field}.key`),
    ...values.flatMap((value, index) =>
      invalidForEach(`${field}.values[${index}]`, value, labelValueProblems(value)),
    ),
  ];
}

function validateOperator(
  operator: string,
  values: readonly string[],
  field: FieldPath,
): FieldError[] {
  switch (operator) {
    case "In":
    case "NotIn":
      return values.length > 0
        ? []
        : [required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
    case "Exists":
    case "DoesNotExist":
      return values.length === 0
        ? []
        : [
            forbidden(
              `${field}.values`,
              "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ),
          ];
    default:
      return [invalid(`${field}.operator`, word(operator), "not a valid selector operator")];
  }
}

/** Entries in the order of their names, so that errors come in one order. */
export function sortedEntries<T>(record: Readonly<Record<string, T>> | undefined): [string, T][] {
  return Object.entries(record ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
