import type { JsonNode, Position } from "../../lib/json-node.ts";

const words: ReadonlyMap<string, boolean | null> = new Map<string, boolean | null>([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map(
    (word) => [word, true] as const,
  ),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map(
    (word) => [word, false] as const,
  ),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
]);

const notFinite = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const integer = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/;
const timestamp = /^\d{4}-\d{1,2}-\d{1,2}(?:[Tt ]\d{1,2}:\d{1,2}:\d{1,2}|$)/;
const minInt64 = -(2n ** 63n);
const maxUint64 = 2n ** 64n - 1n;

/** What a scalar without quotes and tag means in the YAML 1.1 that Kubernetes reads. Undefined has no JSON form. */
export function plainScalar(text: string, at: Position): JsonNode | undefined {
  const word = words.get(text);
  if (word === null) return { kind: "null", at };
  if (word !== undefined) return { kind: "bool", value: word, at };
  if (notFinite.test(text)) return undefined;
  const number = /^[-+.0-9]/.test(text) ? numberText(text) : undefined;
  if (number !== undefined) return { kind: "number", text: number, at };
  return { kind: "string", value: text, at };
}

function numberText(text: string): string | undefined {
  if (text.startsWith(".")) return floatText(text);
  if (timestamp.test(text)) return undefined;
  const plain = text.replaceAll("_", "");
  return integerText(plain) ?? floatText(plain);
}

function integerText(text: string): string | undefined {
  const match = integer.exec(text);
  if (match === null) return undefined;
  const [, sign = "", digits = ""] = match;
  const isOldOctal = /^0[0-7]+$/.test(digits);
  const size = BigInt(isOldOctal ? `0o${digits.slice(1)}` : digits);
  const value = sign === "-" ? -size : size;
  if (value < minInt64 || value > maxUint64) return undefined;
  return String(value);
}

function floatText(text: string): string | undefined {
  if (!float.test(text)) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) return undefined;
  return Object.is(value, -0) ? "-0" : String(value);
}
