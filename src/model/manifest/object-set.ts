import { encodeBase64 } from "../../lib/base64.ts";
import { type JsonNode, nodeText, positionOf } from "../../lib/json-node.ts";
import { defaultPersistentVolume } from "../defaults/default-volume.ts";
import { claimsNeedCluster } from "../fields/refused-fields.ts";
import type {
  ConfigMap,
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
  RuntimeClass,
  Secret,
} from "../generated/kubernetes.ts";
import type { Pod } from "../pod.ts";
import { type FieldError, formatFieldError } from "../validate/field-error.ts";
import { validateConfigMap, validateSecret } from "../validate/validate-data.ts";
import { validateRuntimeClass } from "../validate/validate-runtime-class.ts";
import {
  validateClaim,
  validateCsiDriver,
  validatePersistentVolume,
} from "../validate/validate-storage.ts";
import { decodeObject } from "./decode-object.ts";
import { duplicateKeys } from "./duplicate-keys.ts";
import { maxListItems, objectKind, typeOfDocument, withoutDocument } from "./object-kind.ts";
import { type PlacedProblem, unknownFieldProblem } from "./placed-problem.ts";
import { parseStaticPod, type StaticPodPlace } from "./static-pod.ts";

/** The objects of one file, or all that is wrong with it. */
export interface ObjectSet {
  readonly pods: readonly Pod[];
  readonly configMaps: readonly ConfigMap[];
  readonly secrets: readonly Secret[];
  readonly runtimeClasses: readonly RuntimeClass[];
  readonly claims: readonly PersistentVolumeClaim[];
  readonly persistentVolumes: readonly PersistentVolume[];
  readonly csiDrivers: readonly CSIDriver[];
  readonly problems: readonly PlacedProblem[];
}

const claimKinds = ["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"];
const kindsOfOtherGroups = ["node.k8s.io/v1 RuntimeClass", "storage.k8s.io/v1 CSIDriver"];
const whatRuns = `a manifest holds Pod, ConfigMap, Secret, PersistentVolumeClaim, PersistentVolume and List of v1, and ${kindsOfOtherGroups.join(", ")}`;

/** Reads documents as pods and the objects that they refer to; strict: a field that does not exist is refused by name. */
export function parseObjectSet(documents: readonly JsonNode[], place: StaticPodPlace): ObjectSet {
  const parts = documents
    .filter(({ kind }) => kind !== "null")
    .map((root) => parseDocument(root, place));
  return joinSets(parts);
}

function joinSets(parts: readonly Partial<ObjectSet>[]): ObjectSet {
  return {
    pods: parts.flatMap(({ pods = [] }) => pods),
    configMaps: parts.flatMap(({ configMaps = [] }) => configMaps),
    secrets: parts.flatMap(({ secrets = [] }) => secrets),
    runtimeClasses: parts.flatMap(({ runtimeClasses = [] }) => runtimeClasses),
    claims: parts.flatMap(({ claims = [] }) => claims),
    persistentVolumes: parts.flatMap(({ persistentVolumes = [] }) => persistentVolumes),
    csiDrivers: parts.flatMap(({ csiDrivers = [] }) => csiDrivers),
    problems: parts.flatMap(({ problems = [] }) => problems),
  };
}

function parseDocument(root: JsonNode, place: StaticPodPlace): Partial<ObjectSet> {
  const kind = objectKind(root, nodeText(root), kindsOfOtherGroups);
  if (!kind.ok) {
    const message = refusedClaimKind(root) ?? `${withoutDocument(kind.error)}: ${whatRuns}`;
    return problem({ message, at: root.at });
  }
  const duplicates = kind.value === "List" ? [] : duplicateKeys(root);
  if (duplicates.length > 0) return problem(...duplicates);
  switch (kind.value) {
    case "Pod":
      return parsePod(root, place);
    case "ConfigMap":
      return parseConfigMap(root);
    case "Secret":
      return parseSecret(root);
    case "RuntimeClass":
      return parseRuntimeClass(root);
    case "PersistentVolumeClaim":
      return parseClaim(root);
    case "PersistentVolume":
      return parsePersistentVolume(root);
    case "CSIDriver":
      return parseCsiDriver(root);
    case "List":
      return parseList(root, place);
    default: {
      const message = `kind ${kind.value} cannot run here: ${whatRuns}`;
      return problem({ message, field: "kind", at: positionOf(root, "kind") });
    }
  }
}

/** Why an object of the claims of devices is refused; undefined for any other. */
function refusedClaimKind(root: JsonNode): string | undefined {
  const type = typeOfDocument(root);
  if (!type.ok || !type.value.apiVersion.startsWith("resource.k8s.io/")) return undefined;
  const kind = claimKinds.find((known) => known === type.value.kind) ?? "an object";
  return `${kind} of resource.k8s.io cannot be used without a cluster, ${claimsNeedCluster}`;
}

function problem(...problems: readonly PlacedProblem[]): Partial<ObjectSet> {
  return { problems };
}

function parseList(root: JsonNode, place: StaticPodPlace): Partial<ObjectSet> {
  const items =
    root.kind === "object" ? root.entries.findLast(({ key }) => key === "items") : undefined;
  if (items === undefined || items.value.kind === "null") return {};
  if (items.value.kind !== "array") {
    return problem({ message: "items must be a list", field: "items", at: items.keyAt });
  }
  if (items.value.items.length > maxListItems) {
    const message = `items holds more than ${maxListItems} objects: use more files`;
    return problem({ message, field: "items", at: items.keyAt });
  }
  return parseObjectSet(items.value.items, place);
}

function parsePod(root: JsonNode, place: StaticPodPlace): Partial<ObjectSet> {
  const { unknownFields } = decodeObject("Pod", root);
  if (unknownFields.length > 0) return problem(...unknownFields.map(unknownFieldProblem));
  const parsed = parseStaticPod(root, place);
  if (parsed.ok) return { pods: [parsed.value] };
  const { validationErrors, message, field, at } = parsed.error;
  if (validationErrors === undefined) return problem({ message, field, at });
  return problem(...validationErrors.map((error) => validationProblem(error, root)));
}

function validationProblem(error: FieldError, root: JsonNode): PlacedProblem {
  return {
    message: formatFieldError(error),
    field: error.field,
    at: positionOf(root, error.field),
  };
}

function parseConfigMap(root: JsonNode): Partial<ObjectSet> {
  const decoded = decodeChecked("ConfigMap", root);
  if ("problems" in decoded) return decoded;
  const configMap = inNamespace(decoded.object as ConfigMap);
  const errors = validateConfigMap(configMap);
  if (errors.length > 0) return problem(...errors.map((error) => validationProblem(error, root)));
  return { configMaps: [configMap] };
}

function parseSecret(root: JsonNode): Partial<ObjectSet> {
  const decoded = decodeChecked("Secret", root);
  if ("problems" in decoded) return decoded;
  const { stringData, ...object } = inNamespace(decoded.object as Secret);
  const texts = Object.entries(stringData ?? {}).map(([key, text]) => [key, encodeBase64(text)]);
  const data = { ...object.data, ...Object.fromEntries(texts) };
  const secret: Secret = { ...object, data, type: object.type ?? "Opaque" };
  const errors = validateSecret(secret);
  if (errors.length > 0) return problem(...errors.map((error) => validationProblem(error, root)));
  return { secrets: [secret] };
}

function parseRuntimeClass(root: JsonNode): Partial<ObjectSet> {
  const decoded = decodeChecked("RuntimeClass", root);
  if ("problems" in decoded) return decoded;
  const runtimeClass = decoded.object as RuntimeClass;
  const errors = validateRuntimeClass(runtimeClass);
  if (errors.length > 0) return problem(...errors.map((error) => validationProblem(error, root)));
  return { runtimeClasses: [runtimeClass] };
}

function parseClaim(root: JsonNode): Partial<ObjectSet> {
  const decoded = decodeChecked("PersistentVolumeClaim", root);
  if ("problems" in decoded) return decoded;
  const claim = inNamespace(decoded.object as PersistentVolumeClaim);
  const errors = validateClaim(claim);
  if (errors.length > 0) return problem(...errors.map((error) => validationProblem(error, root)));
  return { claims: [claim] };
}

function parsePersistentVolume(root: JsonNode): Partial<ObjectSet> {
  const decoded = decodeChecked("PersistentVolume", root);
  if ("problems" in decoded) return decoded;
  const volume = decoded.object as PersistentVolume;
  const errors = validatePersistentVolume(volume);
  if (errors.length > 0) return problem(...errors.map((error) => validationProblem(error, root)));
  return { persistentVolumes: [defaultPersistentVolume(volume)] };
}

function parseCsiDriver(root: JsonNode): Partial<ObjectSet> {
  const decoded = decodeChecked("CSIDriver", root);
  if ("problems" in decoded) return decoded;
  const driver = decoded.object as CSIDriver;
  const errors = validateCsiDriver(driver);
  if (errors.length > 0) return problem(...errors.map((error) => validationProblem(error, root)));
  return { csiDrivers: [driver] };
}

/** The decoder guarantees the shape of what it returns without a problem. */
function decodeChecked(
  struct: string,
  root: JsonNode,
): { readonly object: unknown } | { readonly problems: readonly PlacedProblem[] } {
  const { value, problem: wrong, unknownFields } = decodeObject(struct, root);
  if (wrong !== undefined) return { problems: [wrong] };
  if (unknownFields.length > 0) return { problems: unknownFields.map(unknownFieldProblem) };
  return { object: value };
}

function inNamespace<T extends ConfigMap | Secret | PersistentVolumeClaim>(object: T): T {
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, namespace: metadata?.namespace ?? "default" } };
}
