import type {
  ConfigMapKeySelector,
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  FileKeySelector,
  SecretKeySelector,
} from "../generated/kubernetes.ts";
import {
  type FieldError,
  type FieldPath,
  invalid,
  invalidForEach,
  required,
} from "./field-error.ts";
import { validateFieldSelector, validateResourceSelector } from "./field-selectors.ts";
import {
  configKeyProblems,
  dnsLabelProblems,
  dnsSubdomainProblems,
  environmentNameProblems,
  withoutTrailingDash,
} from "./names.ts";
import { validateNoBacksteps } from "./paths.ts";

const environmentFields = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];

export function validateEnvironment(
  variables: readonly EnvVar[] | undefined,
  field: FieldPath,
): FieldError[] {
  return (variables ?? []).flatMap((variable, index) => {
    const at = `${field}[${index}]`;
    return [
      ...(variable.name === ""
        ? [required(`${at}.name`)]
        : invalidForEach(`${at}.name`, variable.name, environmentNameProblems(variable.name))),
      ...validateValueFrom(variable, `${at}.valueFrom`),
    ];
  });
}

function validateValueFrom(variable: EnvVar, field: FieldPath): FieldError[] {
  const source = variable.valueFrom;
  if (source === undefined) return [];
  const errors = validateSources(source, field);
  const count = [
    source.fieldRef,
    source.resourceFieldRef,
    source.configMapKeyRef,
    source.secretKeyRef,
    source.fileKeyRef,
  ].filter((one) => one !== undefined).length;
  if (count === 0) {
    const detail =
      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    errors.push(invalid(field, "", detail));
  } else if (variable.value !== undefined) {
    errors.push(invalid(field, "", "may not be specified when `value` is not empty"));
  } else if (count > 1) {
    errors.push(invalid(field, "", "may not have more than one field specified at a time"));
  }
  return errors;
}

function validateSources(source: EnvVarSource, field: FieldPath): FieldError[] {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  return [
    ...(fieldRef === undefined
      ? []
      : validateFieldSelector(fieldRef, environmentFields, `${field}.fieldRef`)),
    ...(resourceFieldRef === undefined
      ? []
      : validateResourceSelector(resourceFieldRef, `${field}.resourceFieldRef`, false)),
    ...(configMapKeyRef === undefined
      ? []
      : validateKeySelector(configMapKeyRef, `${field}.configMapKeyRef`)),
    ...(secretKeyRef === undefined
      ? []
      : validateKeySelector(secretKeyRef, `${field}.secretKeyRef`)),
    ...(fileKeyRef === undefined ? [] : validateFileSelector(fileKeyRef, `${field}.fileKeyRef`)),
  ];
}

function validateKeySelector(
  { name = "", key }: ConfigMapKeySelector | SecretKeySelector,
  field: FieldPath,
): FieldError[] {
  return [
    ...invalidForEach(`${field}.name`, name, dnsSubdomainProblems(name)),
    ...(key === ""
      ? [required(`${field}.key`)]
      : invalidForEach(`${field}.key`, key, configKeyProblems(key))),
  ];
}

function validateFileSelector(
  { key, volumeName, path }: FileKeySelector,
  field: FieldPath,
): FieldError[] {
  return [
    ...(key === ""
      ? [required(`${field}.key`)]
      : invalidForEach(`${field}.key`, key, environmentNameProblems(key))),
    ...(volumeName === ""
      ? [required(`${field}.volumeName`)]
      : invalidForEach(`${field}.volumeName`, volumeName, dnsLabelProblems(volumeName))),
    ...(path === "" ? [required(`${field}.path`)] : validateNoBacksteps(path, `${field}.path`)),
  ];
}

export function validateEnvironmentFrom(
  sources: readonly EnvFromSource[] | undefined,
  field: FieldPath,
): FieldError[] {
  return (sources ?? []).flatMap((source, index) => {
    const { prefix, configMapRef, secretRef } = source;
    const at = `${field}[${index}]`;
    const errors =
      prefix === undefined
        ? []
        : invalidForEach(`${at}.prefix`, prefix, environmentNameProblems(prefix));
    if (configMapRef !== undefined) {
      errors.push(...validateReference(configMapRef.name, `${at}.configMapRef.name`));
    }
    if (secretRef !== undefined) {
      errors.push(...validateReference(secretRef.name, `${at}.secretRef.name`));
    }
    if (configMapRef === undefined && secretRef === undefined) {
      errors.push(invalid(field, "", "must specify one of: `configMapRef` or `secretRef`"));
    } else if (configMapRef !== undefined && secretRef !== undefined) {
      errors.push(invalid(field, "", "may not have more than one field specified at a time"));
    }
    return errors;
  });
}

function validateReference(name: string | undefined, field: FieldPath): FieldError[] {
  if (name === undefined || name === "") return [required(field)];
  return invalidForEach(field, name, dnsSubdomainProblems(withoutTrailingDash(name)));
}
