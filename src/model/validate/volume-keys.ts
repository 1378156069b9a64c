import type {
  ConfigMapVolumeSource,
  KeyToPath,
  SecretVolumeSource,
} from "../generated/kubernetes.ts";
import { type FieldError, type FieldPath, required } from "./field-error.ts";
import { validateFileMode, validateVolumeFilePath } from "./paths.ts";

export function validateSecretVolume(
  source: SecretVolumeSource | undefined,
  field: FieldPath,
): FieldError[] {
  return [
    ...((source?.secretName ?? "") === "" ? [required(`${field}.secretName`)] : []),
    ...validateFileMode(source?.defaultMode, `${field}.defaultMode`),
    ...validateKeys(source?.items, `${field}.items`),
  ];
}

export function validateConfigMapVolume(
  source: ConfigMapVolumeSource | undefined,
  field: FieldPath,
): FieldError[] {
  return [
    ...((source?.name ?? "") === "" ? [required(`${field}.name`)] : []),
    ...validateFileMode(source?.defaultMode, `${field}.defaultMode`),
    ...validateKeys(source?.items, `${field}.items`),
  ];
}

function validateKeys(items: readonly KeyToPath[] | undefined, field: FieldPath): FieldError[] {
  return (items ?? []).flatMap((item, index) => validateKeyToPath(item, `${field}[${index}]`));
}

/** Checks which key of a config map or secret becomes which file. */
export function validateKeyToPath({ key, path, mode }: KeyToPath, field: FieldPath): FieldError[] {
  return [
    ...(key === "" ? [required(`${field}.key`)] : []),
    ...(path === "" ? [required(`${field}.path`)] : []),
    ...validateVolumeFilePath(path, `${field}.path`),
    ...validateFileMode(mode, `${field}.mode`),
  ];
}
