import { type FieldError, type FieldPath, invalid } from "./field-error.ts";

export function hasBackstep(path: string): boolean {
  return path.split("/").includes("..");
}

export function validateNoBacksteps(path: string, field: FieldPath): FieldError[] {
  return hasBackstep(path) ? [invalid(field, path, "must not contain '..'")] : [];
}

/** A relative path that stays below where it starts. */
export function validateDescendingPath(path: string, field: FieldPath): FieldError[] {
  return [
    ...(path.startsWith("/") ? [invalid(field, path, "must be a relative path")] : []),
    ...validateNoBacksteps(path, field),
  ];
}

/** A descending path that also leaves alone the names that atomic updates of a volume use. */
export function validateVolumeFilePath(path: string, field: FieldPath): FieldError[] {
  const isReserved = path.startsWith("..") && !path.startsWith("../");
  return [
    ...validateDescendingPath(path, field),
    ...(isReserved ? [invalid(field, path, "must not start with '..'")] : []),
  ];
}

export function validateFileMode(mode: number | undefined, field: FieldPath): FieldError[] {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return [];
  return [invalid(field, mode, "must be a number between 0 and 0777 (octal), both inclusive")];
}
