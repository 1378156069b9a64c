import type { DownwardAPIVolumeFile } from "../generated/kubernetes.ts";
import { type FieldError, type FieldPath, invalid, required } from "./field-error.ts";
import { validateFieldSelector, validateResourceSelector } from "./field-selectors.ts";
import { validateFileMode, validateVolumeFilePath } from "./paths.ts";

const volumeFields = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
];

/** Checks files that show fields of the pod; their errors name the volume, not the item. */
export function validateDownwardFiles(
  files: readonly DownwardAPIVolumeFile[] | undefined,
  field: FieldPath,
): FieldError[] {
  return (files ?? []).flatMap((file) => validateDownwardFile(file, field));
}

export function validateDownwardFile(file: DownwardAPIVolumeFile, field: FieldPath): FieldError[] {
  return [
    ...(file.path === "" ? [required(`${field}.path`)] : []),
    ...validateVolumeFilePath(file.path, `${field}.path`),
    ...validateReference(file, field),
    ...validateFileMode(file.mode, `${field}.mode`),
  ];
}

function validateReference(
  { fieldRef, resourceFieldRef }: DownwardAPIVolumeFile,
  field: FieldPath,
): FieldError[] {
  if (fieldRef !== undefined) {
    const both = "fieldRef and resourceFieldRef can not be specified simultaneously";
    return [
      ...validateFieldSelector(fieldRef, volumeFields, `${field}.fieldRef`),
      ...(resourceFieldRef === undefined ? [] : [invalid(field, "resource", both)]),
    ];
  }
  if (resourceFieldRef !== undefined) {
    return validateResourceSelector(resourceFieldRef, `${field}.resourceFieldRef`, true);
  }
  return [required(field, "one of fieldRef and resourceFieldRef is required")];
}
