import { trimEndOf } from "../../lib/trim-text.ts";
import { utf8Length } from "../../lib/utf8.ts";
import type { ConfigMap, Secret } from "../generated/kubernetes.ts";
import {
  type FieldError,
  type FieldPath,
  invalid,
  invalidForEach,
  required,
  tooLong,
} from "./field-error.ts";
import { sortedEntries } from "./labels.ts";
import { configKeyProblems } from "./names.ts";
import { validateObjectMeta } from "./object-meta.ts";

const maxDataBytes = 1024 * 1024;

/** Checks a config map: names, keys and size. */
export function validateConfigMap({ metadata = {}, data, binaryData }: ConfigMap): FieldError[] {
  const errors = [
    ...validateObjectMeta(metadata, "metadata"),
    ...sortedEntries(data).flatMap(([key]) => [
      ...validateKey(key, "data"),
      ...(binaryData?.[key] === undefined
        ? []
        : [invalid(`data[${key}]`, key, "duplicate of key present in binaryData")]),
    ]),
    ...sortedEntries(binaryData).flatMap(([key]) => validateKey(key, "binaryData")),
  ];
  const size =
    sum(Object.values(data ?? {}).map((text) => utf8Length(text))) +
    sum(Object.values(binaryData ?? {}).map(decodedLength));
  if (size > maxDataBytes) errors.push(tooLong("", maxDataBytes));
  return errors;
}

/** Checks a secret: names, keys, size, and the keys that its type needs. */
export function validateSecret({ metadata = {}, data = {}, type }: Secret): FieldError[] {
  const errors = [
    ...validateObjectMeta(metadata, "metadata"),
    ...sortedEntries(data).flatMap(([key]) => validateKey(key, "data")),
  ];
  if (sum(Object.values(data).map(decodedLength)) > maxDataBytes) {
    errors.push(tooLong("data", maxDataBytes));
  }
  return [...errors, ...missingKeys(type ?? "Opaque", data)];
}

/** How many bytes base64 text encodes. */
function decodedLength(text: string): number {
  return Math.floor((trimEndOf(text, "=").length * 3) / 4);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function validateKey(key: string, field: FieldPath): FieldError[] {
  return invalidForEach(`${field}[${key}]`, key, configKeyProblems(key));
}

function missingKeys(type: string, data: Readonly<Record<string, string>>): FieldError[] {
  const missing = (...keys: readonly string[]) =>
    keys.filter((key) => data[key] === undefined).map((key) => required(`data[${key}]`));
  switch (type) {
    case "kubernetes.io/dockercfg":
      return missing(".dockercfg");
    case "kubernetes.io/dockerconfigjson":
      return missing(".dockerconfigjson");
    case "kubernetes.io/basic-auth": {
      const absent = missing("username", "password");
      return absent.length === 2 ? absent : [];
    }
    case "kubernetes.io/ssh-auth":
      return (data["ssh-privatekey"] ?? "") === "" ? [required("data[ssh-privatekey]")] : [];
    case "kubernetes.io/tls":
      return missing("tls.crt", "tls.key");
    default:
      return [];
  }
}
