import type { JsonEntry, JsonNode } from "../lib/json-node.ts";

/** A document with a JSON merge patch applied: null removes, objects merge, everything else replaces. */
export function mergePatch(
  document: JsonNode & { kind: "object" },
  patch: JsonNode & { kind: "object" },
): JsonNode & { kind: "object" } {
  const entries = new Map(document.entries.map((entry) => [entry.key, entry]));
  for (const entry of patch.entries) {
    if (entry.value.kind === "null") entries.delete(entry.key);
    else entries.set(entry.key, { ...entry, value: merged(entries.get(entry.key), entry.value) });
  }
  const sorted = [...entries.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
  return { ...document, entries: sorted };
}

function merged(current: JsonEntry | undefined, value: JsonNode): JsonNode {
  if (current === undefined || current.value.kind !== "object") return withoutNulls(value);
  return value.kind === "object" ? mergePatch(current.value, value) : withScalars(value);
}

/** What is new has no fields that are null; items of lists may be. */
function withoutNulls(node: JsonNode): JsonNode {
  switch (node.kind) {
    case "object":
      return {
        ...node,
        entries: node.entries
          .filter(({ value }) => value.kind !== "null")
          .map((entry) => ({ ...entry, value: withoutNulls(entry.value) })),
      };
    case "array":
      return { ...node, items: node.items.map(withoutNulls) };
    default:
      return withScalars(node);
  }
}

/** Numbers in a patch lose how they were written: 1e2 and 5.0 become 100 and 5. */
function withScalars(node: JsonNode): JsonNode {
  if (node.kind === "array") return { ...node, items: node.items.map(withScalars) };
  if (node.kind !== "number" || isInteger(node.text)) return node;
  const value = Number(node.text);
  return { ...node, text: Object.is(value, -0) ? "-0" : String(value) };
}

function isInteger(text: string): boolean {
  if (!/^-?[0-9]+$/.test(text)) return false;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value;
}
