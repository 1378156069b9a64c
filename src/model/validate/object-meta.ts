import { utf8Length } from "../../lib/utf8.ts";
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "../generated/kubernetes.ts";
import {
  type FieldError,
  type FieldPath,
  invalid,
  invalidForEach,
  required,
  tooLong,
  word,
} from "./field-error.ts";
import { validateAnnotations, validateLabels } from "./labels.ts";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  qualifiedNameProblems,
  withoutTrailingDash,
} from "./names.ts";

const standardFinalizers: ReadonlySet<string> = new Set([
  "kubernetes",
  "orphan",
  "foregroundDeletion",
]);
const maxFieldManagerBytes = 128;
const maxSubresourceBytes = 256;

/** Checks the metadata of an object of a namespace whose name is a DNS subdomain. */
export function validateObjectMeta(meta: ObjectMeta, field: FieldPath): FieldError[] {
  return [
    ...validateNames(meta, field),
    ...nonNegative(meta.generation ?? 0, `${field}.generation`),
    ...validateLabels(meta.labels, `${field}.labels`),
    ...validateAnnotations(meta.annotations, `${field}.annotations`),
    ...validateOwners(meta.ownerReferences ?? [], `${field}.ownerReferences`),
    ...validateFinalizers(meta.finalizers ?? [], `${field}.finalizers`),
    ...(meta.managedFields ?? []).flatMap((entry, index) =>
      validateManagedFields(entry, `${field}.managedFields[${index}]`),
    ),
    ...(meta.finalizers ?? []).flatMap((finalizer, index) =>
      validateFinalizerDomain(finalizer, `${field}.finalizers[${index}]`),
    ),
  ];
}

export function nonNegative(value: number, field: FieldPath): FieldError[] {
  return value < 0 ? [invalid(field, value, "must be greater than or equal to 0")] : [];
}

function validateNames(meta: ObjectMeta, field: FieldPath): FieldError[] {
  const { generateName, name, namespace } = meta;
  const errors: FieldError[] = [];
  if (generateName !== undefined) {
    const problems = dnsSubdomainProblems(withoutTrailingDash(generateName));
    errors.push(...invalidForEach(`${field}.generateName`, generateName, problems));
  }
  if (name === undefined) {
    errors.push(required(`${field}.name`, "name or generateName is required"));
  } else {
    errors.push(...invalidForEach(`${field}.name`, name, dnsSubdomainProblems(name)));
  }
  if (namespace === undefined) {
    errors.push(required(`${field}.namespace`));
  } else {
    errors.push(...invalidForEach(`${field}.namespace`, namespace, dnsLabelProblems(namespace)));
  }
  return errors;
}

function validateOwners(owners: readonly OwnerReference[], field: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  let controller: string | undefined;
  for (const owner of owners) {
    errors.push(...validateOwner(owner, field));
    if (owner.controller !== true) continue;
    const name = `${owner.kind}/${owner.name}`;
    if (controller === undefined) {
      controller = name;
      continue;
    }
    const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`;
    errors.push(invalid(field, { json: owners.map(shownOwner) }, detail));
  }
  return errors;
}

function validateOwner(owner: OwnerReference, field: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const version = versionOf(owner.apiVersion);
  if (version === "") {
    errors.push(invalid(`${field}.apiVersion`, owner.apiVersion, "version must not be empty"));
  }
  for (const name of ["kind", "name"] as const) {
    if (owner[name] === "") errors.push(invalid(`${field}.${name}`, "", "must not be empty"));
  }
  if (owner.uid === "") errors.push(invalid(`${field}.uid`, word(""), "must not be empty"));
  if (owner.apiVersion === "v1" && owner.kind === "Event") {
    const detail = "/v1, Kind=Event is disallowed from being an owner";
    errors.push(invalid(field, { json: shownOwner(owner) }, detail));
  }
  return errors;
}

function shownOwner({
  apiVersion,
  kind,
  name,
  uid,
  controller,
  blockOwnerDeletion,
}: OwnerReference) {
  return { apiVersion, kind, name, uid, controller, blockOwnerDeletion };
}

function versionOf(apiVersion: string): string {
  const parts = apiVersion.split("/");
  return parts.length <= 2 && apiVersion !== "/" ? (parts.at(-1) ?? "") : "";
}

function validateFinalizers(finalizers: readonly string[], field: FieldPath): FieldError[] {
  const errors = finalizers.flatMap((finalizer) =>
    invalidForEach(field, finalizer, qualifiedNameProblems(finalizer)),
  );
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    const detail = "finalizer orphan and foregroundDeletion cannot be both set";
    errors.push(invalid(field, { json: finalizers }, detail));
  }
  return errors;
}

function validateFinalizerDomain(finalizer: string, field: FieldPath): FieldError[] {
  if (finalizer.includes("/") || standardFinalizers.has(finalizer)) return [];
  const detail = "name is neither a standard finalizer name nor is it fully qualified";
  return [invalid(field, finalizer, detail)];
}

function validateManagedFields(entry: ManagedFieldsEntry, field: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const operation = entry.operation ?? "";
  if (operation !== "Apply" && operation !== "Update") {
    errors.push(invalid(`${field}.operation`, word(operation), "must be `Apply` or `Update`"));
  }
  const fieldsType = entry.fieldsType ?? "";
  if (fieldsType !== "" && fieldsType !== "FieldsV1") {
    errors.push(invalid(`${field}.fieldsType`, fieldsType, "must be `FieldsV1`"));
  }
  errors.push(...validateManager(entry.manager ?? "", `${field}.manager`));
  if (utf8Length(entry.subresource ?? "") > maxSubresourceBytes) {
    errors.push(tooLong(`${field}.subresource`, maxSubresourceBytes));
  }
  return errors;
}

function validateManager(manager: string, field: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  if (utf8Length(manager) > maxFieldManagerBytes) errors.push(tooLong(field, maxFieldManagerBytes));
  let position = 0;
  for (const character of manager) {
    if (!isPrintable(character)) {
      const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
      const detail = `invalid character U+${code} (at position ${position})`;
      errors.push(invalid(field, manager, detail));
    }
    position += utf8Length(character);
  }
  return errors;
}

function isPrintable(character: string): boolean {
  return /^[ \p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);
}
