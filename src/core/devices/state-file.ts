// The state files of the kubelet's managers: JSON with a checksum over a dump of the Go struct.

import { compareText } from "../../lib/compare-text.ts";
import { fnv1a } from "../../lib/fnv.ts";
import { jsonText } from "../../lib/go-text.ts";
import { childNode, type JsonNode } from "../../lib/json-node.ts";
import { parseJson } from "../../lib/json-parser.ts";
import { err, ok, type Result } from "../../lib/result.ts";

export const corruptStateFile = "checkpoint is corrupted";

class StateFileError extends Error {}

/** Reads a file whose parts are read by the functions below. */
export function readStateFile<T>(text: string, read: (root: JsonNode) => T): Result<T, string> {
  const parsed = parseJson(text);
  if (!parsed.ok) return err(parsed.error.message);
  try {
    return ok(read(parsed.value));
  } catch (error) {
    if (error instanceof StateFileError) return err(error.message);
    throw error;
  }
}

/** A field of an object; undefined where it is absent or null, which the files do not distinguish. */
export function readField<T>(
  node: JsonNode,
  name: string,
  read: (value: JsonNode, field: string) => T,
): T | undefined {
  if (node.kind === "null") return undefined;
  if (node.kind !== "object") throw new StateFileError(mismatch(node, name, "struct"));
  const value = childNode(node, name);
  return value === undefined || value.kind === "null" ? undefined : read(value, name);
}

export function readText(node: JsonNode, field: string): string {
  if (node.kind !== "string") throw new StateFileError(mismatch(node, field, "string"));
  return node.value;
}

export function readWhole(node: JsonNode, field: string): bigint {
  if (node.kind !== "number" || !/^\d+$/.test(node.text)) {
    throw new StateFileError(mismatch(node, field, "uint64"));
  }
  return BigInt(node.text);
}

/** The keys of an object; null values are read as they are. */
export function readMap<T>(
  node: JsonNode,
  field: string,
  read: (value: JsonNode, field: string) => T,
): Map<string, T> {
  if (node.kind !== "object") throw new StateFileError(mismatch(node, field, "map"));
  return new Map(node.entries.map(({ key, value }) => [key, read(value, field)]));
}

export function readList<T>(
  node: JsonNode,
  field: string,
  read: (value: JsonNode, field: string) => T,
): T[] {
  if (node.kind !== "array") throw new StateFileError(mismatch(node, field, "list"));
  return node.items.map((item) => read(item, field));
}

function mismatch(node: JsonNode, field: string, wanted: string): string {
  return `json: cannot unmarshal ${node.kind} into field ${field} of type ${wanted}`;
}

/** A struct as JSON: its fields, already as JSON, in its own order. */
export function jsonStruct(fields: readonly (readonly [string, string])[]): string {
  return `{${fields.map(([name, value]) => `${jsonText(name)}:${value}`).join()}}`;
}

/** A map as JSON, in the order of its keys. */
export function jsonMap<T>(map: ReadonlyMap<string, T>, text: (value: T) => string): string {
  return jsonStruct(sortedEntries(map).map(([key, value]) => [key, text(value)]));
}

/** A map as Go dumps it. */
export function dumpMap<T>(map: ReadonlyMap<string, T>, text: (value: T) => string): string {
  return `map[${sortedEntries(map)
    .map(([key, value]) => `${key}:${text(value)}`)
    .join(" ")}]`;
}

function sortedEntries<T>(map: ReadonlyMap<string, T>): (readonly [string, T])[] {
  return [...map].toSorted(([a], [b]) => compareText(a, b));
}

/** Whether the checksum is that of one of the dumps; zero is that of files which were written before there were checksums. */
export function isChecksumOf(checksum: bigint, dumps: readonly string[]): boolean {
  return checksum === 0n || dumps.some((dump) => BigInt(fnv1a(dump)) === checksum);
}
