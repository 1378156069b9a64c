import { decodeBase64 } from "../base64.ts";
import type { YamlScalar } from "./yaml-node.ts";
import { YamlProblem } from "./yaml-problem.ts";

export type ScalarValue =
  | { readonly kind: "null" }
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "integer"; readonly value: bigint }
  | { readonly kind: "float"; readonly value: number }
  | { readonly kind: "timestamp"; readonly value: string }
  | { readonly kind: "string"; readonly value: string };

const tagPrefix = "tag:yaml.org,2002:";

/** By the last part of a tag, the kind of value that it asks for. */
const tagKinds: ReadonlyMap<string, ScalarValue["kind"]> = new Map([
  ["str", "string"],
  ["bool", "bool"],
  ["int", "integer"],
  ["float", "float"],
  ["null", "null"],
  ["timestamp", "timestamp"],
]);

/** What a scalar means in the YAML 1.1 that Kubernetes reads. Throws a YamlProblem where its tag asks for something else. */
export function resolveScalar({ value, style, tag, at }: YamlScalar): ScalarValue {
  if (tag === undefined) return style === "plain" ? plainValue(value) : text(value);
  const name = tag.startsWith(tagPrefix) ? tag.slice(tagPrefix.length) : undefined;
  if (name === "binary") {
    const bytes = decodeBase64(value);
    if (bytes !== undefined) return text(new TextDecoder().decode(bytes));
    throw new YamlProblem("!!binary value contains invalid base64 data", at);
  }
  const kind = tagKinds.get(name ?? "");
  if (kind === undefined || kind === "string") return text(value);
  const found = kind === "timestamp" && isTimestamp(value) ? timestamp(value) : plainValue(value);
  if (found.kind === kind) return found;
  if (kind === "float" && found.kind === "integer" && found.value <= maxInt64) {
    return { kind: "float", value: Number(found.value) };
  }
  throw new YamlProblem(`the value of this !!${name} is something else`, at);
}

const words: ReadonlyMap<string, ScalarValue> = new Map<string, ScalarValue>([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map(
    (word) => [word, { kind: "bool", value: true }] as const,
  ),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map(
    (word) => [word, { kind: "bool", value: false }] as const,
  ),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, { kind: "null" }] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, float(Number.NaN)] as const),
  ...["", "+"].flatMap((sign) =>
    [".inf", ".Inf", ".INF"].map((word) => [sign + word, float(Number.POSITIVE_INFINITY)] as const),
  ),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, float(Number.NEGATIVE_INFINITY)] as const),
]);

function float(value: number): ScalarValue {
  return { kind: "float", value };
}

function text(value: string): ScalarValue {
  return { kind: "string", value };
}

function timestamp(value: string): ScalarValue {
  return { kind: "timestamp", value };
}

function plainValue(value: string): ScalarValue {
  const word = words.get(value);
  if (word !== undefined) return word;
  const number = /^[-+.0-9]/.test(value) ? numberValue(value) : undefined;
  return number ?? text(value);
}

const floatForm = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const integerForm = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))$/;
// The sign may stand behind the prefix, too.
const signedBinaryForm = /^0b([-+])([01]+)$/;
const misplacedUnderscore = /(?<![0-9])_|_(?![0-9])/;
const minInt64 = -(2n ** 63n);
const maxInt64 = 2n ** 63n - 1n;
const maxUint64 = 2n ** 64n - 1n;

function numberValue(value: string): ScalarValue | undefined {
  if (value.startsWith(".")) {
    return misplacedUnderscore.test(value) ? undefined : floatValue(value.replaceAll("_", ""));
  }
  const plain = value.replaceAll("_", "");
  return integerValue(plain) ?? floatValue(plain) ?? signedBinaryValue(plain);
}

function integerValue(plain: string): ScalarValue | undefined {
  const match = integerForm.exec(plain);
  if (match === null) return undefined;
  const [, sign = "", hexadecimal, binary, octal, decimal = "0"] = match;
  const digits =
    (hexadecimal && `0x${hexadecimal}`) ??
    (binary && `0b${binary}`) ??
    (octal && `0o${octal}`) ??
    decimal;
  const size = BigInt(digits);
  const value = sign === "-" ? -size : size;
  const isInRange = value >= minInt64 && value <= (sign === "" ? maxUint64 : maxInt64);
  return isInRange ? { kind: "integer", value } : undefined;
}

function signedBinaryValue(plain: string): ScalarValue | undefined {
  const [, sign = "", digits = ""] = signedBinaryForm.exec(plain) ?? [];
  if (digits === "") return undefined;
  return integerValue(`${sign}0b${digits}`);
}

function floatValue(plain: string): ScalarValue | undefined {
  if (!floatForm.test(plain)) return undefined;
  const value = Number(plain);
  return Number.isFinite(value) ? float(value) : undefined;
}

const timestampForm =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt]\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)| \d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?)?$/;

function isTimestamp(value: string): boolean {
  const [, year, month, day] = timestampForm.exec(value) ?? [];
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}
