import type { LabelSelector } from "../generated/kubernetes.ts";
import { type FieldError, type FieldPath, forbidden, invalid } from "./field-error.ts";
import { validateLabelName } from "./labels.ts";

interface LabelKeys {
  readonly labelSelector?: LabelSelector | undefined;
  readonly matchLabelKeys?: readonly string[] | undefined;
  readonly mismatchLabelKeys?: readonly string[] | undefined;
}

/** Checks the label keys whose values come from the pod itself against the selector that they extend. */
export function validateMatchLabelKeys(
  { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] }: LabelKeys,
  field: FieldPath,
): FieldError[] {
  return [
    ...validateKeys(matchLabelKeys, labelSelector, `${field}.matchLabelKeys`),
    ...validateKeys(mismatchLabelKeys, labelSelector, `${field}.mismatchLabelKeys`),
    ...validateAgainstSelector(matchLabelKeys, labelSelector, field),
    ...matchLabelKeys.flatMap((key, index) =>
      mismatchLabelKeys.includes(key)
        ? [
            invalid(
              `${field}.matchLabelKeys[${index}]`,
              key,
              "exists in both matchLabelKeys and mismatchLabelKeys",
            ),
          ]
        : [],
    ),
  ];
}

function validateKeys(
  keys: readonly string[],
  selector: LabelSelector | undefined,
  field: FieldPath,
): FieldError[] {
  if (keys.length === 0) return [];
  if (selector === undefined) {
    return [forbidden(field, "must not be specified when labelSelector is not set")];
  }
  return keys.flatMap((key, index) => validateLabelName(key, `${field}[${index}]`));
}

/** A key that the selector already selects by cannot be narrowed again. */
function validateAgainstSelector(
  keys: readonly string[],
  selector: LabelSelector | undefined,
  field: FieldPath,
): FieldError[] {
  const selected = new Set(Object.keys(selector?.matchLabels ?? {}));
  return (selector?.matchExpressions ?? []).flatMap(({ key }) => {
    const index = keys.lastIndexOf(key);
    const isRepeated = index !== -1 && selected.has(key);
    selected.add(key);
    if (!isRepeated) return [];
    const detail = "exists in both matchLabelKeys and labelSelector";
    return [invalid(`${field}[${index}]`, key, detail)];
  });
}
