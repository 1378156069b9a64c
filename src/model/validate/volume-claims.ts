// Volumes whose claim is made together with the pod.
import { quoteText } from "../../lib/go-text.ts";
import type {
  ObjectMeta,
  PersistentVolumeClaimSpec,
  TypedLocalObjectReference,
  TypedObjectReference,
  Volume,
} from "../generated/kubernetes.ts";
import { compareQuantity, formatQuantity, mustParseQuantity, zeroQuantity } from "../quantity.ts";
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidForEach,
  notSupported,
  required,
  word,
} from "./field-error.ts";
import { validateAnnotations, validateLabelSelector, validateLabels } from "./labels.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "./names.ts";
import { requireText } from "./volume-disks.ts";

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
export const volumeModes: readonly string[] = ["Block", "Filesystem"];

// The order of the API's own struct, which is that of its errors.
const templateFields: readonly (keyof ObjectMeta)[] = [
  "name",
  "generateName",
  "namespace",
  "selfLink",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "ownerReferences",
  "finalizers",
  "managedFields",
];
const shownNames: { readonly [K in keyof ObjectMeta]?: string } = { uid: "uID" };

/** Checks a claim template, and that the claim's name will be a name. */
export function validateEphemeralVolume(
  { name, ephemeral }: Volume,
  meta: ObjectMeta,
  field: FieldPath,
): FieldError[] {
  const template = ephemeral?.volumeClaimTemplate;
  const at = `${field}.ephemeral.volumeClaimTemplate`;
  const errors =
    template === undefined
      ? [required(at)]
      : [
          ...validateTemplateMeta(template.metadata ?? {}, `${at}.metadata`),
          ...validateClaimSpec(template.spec, `${at}.spec`),
        ];
  if (name === "") return errors;
  const claim = `${meta.name}-${name}`;
  const problems = dnsSubdomainProblems(claim).map(
    (problem) => `PVC name ${quoteText(claim)}: ${problem}`,
  );
  return [...errors, ...invalidForEach(`${field}.name`, name, problems)];
}

function validateTemplateMeta(meta: ObjectMeta, field: FieldPath): FieldError[] {
  return [
    ...validateAnnotations(meta.annotations, `${field}.annotations`),
    ...validateLabels(meta.labels, `${field}.labels`),
    ...templateFields
      .filter((name) => meta[name] !== undefined)
      .map((name) => forbidden(`${field}.${shownNames[name] ?? name}`, "cannot be set")),
  ];
}

export function validateClaimSpec(spec: PersistentVolumeClaimSpec, field: FieldPath): FieldError[] {
  const { storageClassName, volumeMode, volumeAttributesClassName: attributesClass } = spec;
  return [
    ...((spec.accessModes ?? []).length === 0
      ? [required(`${field}.accessModes`, "at least 1 access mode is required")]
      : []),
    ...validateLabelSelector(spec.selector, `${field}.selector`),
    ...validateAccessModes(spec.accessModes ?? [], `${field}.accessModes`),
    ...validateStorage(spec.resources?.requests?.["storage"], `${field}.resources[storage]`),
    ...validateClass(storageClassName, `${field}.storageClassName`),
    ...(volumeMode === undefined || volumeModes.includes(volumeMode)
      ? []
      : [notSupported(`${field}.volumeMode`, word(volumeMode), volumeModes)]),
    ...validateDataSources(spec, field),
    ...validateClass(attributesClass, `${field}.volumeAttributesClassName`),
  ];
}

export function validateAccessModes(modes: readonly string[], field: FieldPath): FieldError[] {
  const errors = modes
    .filter((mode) => !accessModes.includes(mode))
    .map((mode) => notSupported(field, word(mode), accessModes));
  const known = modes.filter((mode) => accessModes.includes(mode));
  const hasSingle = known.includes("ReadWriteOncePod");
  if (hasSingle && known.some((mode) => mode !== "ReadWriteOncePod")) {
    errors.push(forbidden(field, "may not use ReadWriteOncePod with other access modes"));
  }
  return errors;
}

export function validateStorage(text: string | undefined, field: FieldPath): FieldError[] {
  if (text === undefined) return [required(field)];
  const amount = mustParseQuantity(text);
  if (compareQuantity(amount, zeroQuantity) > 0) return [];
  return [invalid(field, formatQuantity(amount), "must be greater than zero")];
}

function validateClass(name: string | undefined, field: FieldPath): FieldError[] {
  if (name === undefined || name === "") return [];
  return invalidForEach(field, name, dnsSubdomainProblems(name));
}

function validateDataSources(spec: PersistentVolumeClaimSpec, field: FieldPath): FieldError[] {
  const { dataSource: source, dataSourceRef: reference } = spec;
  const errors = [
    ...(source === undefined ? [] : validateDataSource(source, `${field}.dataSource`)),
    ...(reference === undefined ? [] : validateDataSource(reference, `${field}.dataSourceRef`)),
  ];
  const namespace = reference?.namespace ?? "";
  if (namespace !== "") {
    const at = `${field}.dataSourceRef.namespace`;
    errors.push(...invalidForEach(at, namespace, dnsLabelProblems(namespace)));
  }
  if (source === undefined || reference === undefined) return errors;
  if (namespace !== "") {
    const detail = "may not be specified when dataSourceRef.namespace is specified";
    return [...errors, invalid(field, { json: {} }, detail)];
  }
  const isSame =
    source.apiGroup === reference.apiGroup &&
    source.kind === reference.kind &&
    source.name === reference.name;
  return isSame ? errors : [...errors, invalid(field, { json: {} }, "must match dataSourceRef")];
}

function validateDataSource(
  { name, kind, apiGroup = "" }: TypedLocalObjectReference | TypedObjectReference,
  field: FieldPath,
): FieldError[] {
  const errors = [...requireText(name, `${field}.name`), ...requireText(kind, `${field}.kind`)];
  if (apiGroup !== "") {
    return [
      ...errors,
      ...invalidForEach(`${field}.apiGroup`, apiGroup, dnsSubdomainProblems(apiGroup)),
    ];
  }
  if (kind === "PersistentVolumeClaim") return errors;
  const detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
  return [...errors, invalid(field, kind, detail)];
}
