import { jsonText } from "./go-text.ts";

/** Where something stands in its file; both count from one. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A parsed document that still knows where everything stood. Numbers keep their text: quantities depend on it. */
export type JsonNode =
  | { readonly kind: "null"; readonly at: Position }
  | { readonly kind: "bool"; readonly value: boolean; readonly at: Position }
  | { readonly kind: "number"; readonly text: string; readonly at: Position }
  | { readonly kind: "string"; readonly value: string; readonly at: Position }
  | { readonly kind: "array"; readonly items: readonly JsonNode[]; readonly at: Position }
  | { readonly kind: "object"; readonly entries: readonly JsonEntry[]; readonly at: Position };

export interface JsonEntry {
  readonly key: string;
  readonly keyAt: Position;
  readonly value: JsonNode;
}

/** The node as compact JSON text. */
export function nodeText(node: JsonNode): string {
  switch (node.kind) {
    case "null":
      return "null";
    case "bool":
      return String(node.value);
    case "number":
      return node.text;
    case "string":
      return jsonText(node.value);
    case "array":
      return `[${node.items.map(nodeText).join(",")}]`;
    case "object":
      return `{${node.entries
        .map(({ key, value }) => `${jsonText(key)}:${nodeText(value)}`)
        .join(",")}}`;
  }
}

/** The position of a field, or of the innermost part of its path that is there. */
export function positionOf(root: JsonNode, field: string): Position {
  let node = root;
  let at = root.at;
  for (const step of field.match(/[^.[\]]+/g) ?? []) {
    const next = childOf(node, step);
    if (next === undefined) return at;
    node = next.value;
    at = next.keyAt;
  }
  return at;
}

/** What an object has under a key, or an array at an index. */
export function childNode(node: JsonNode | undefined, step: string): JsonNode | undefined {
  return node && childOf(node, step)?.value;
}

/** Of two entries with one key the last counts. */
const entriesByKey = new WeakMap<readonly JsonEntry[], ReadonlyMap<string, JsonEntry>>();

/** One after the other, all entries of a large object are looked up. */
function entryOf(entries: readonly JsonEntry[], key: string): JsonEntry | undefined {
  const known = entriesByKey.get(entries);
  if (known !== undefined) return known.get(key);
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  entriesByKey.set(entries, byKey);
  return byKey.get(key);
}

function childOf(node: JsonNode, step: string): JsonEntry | undefined {
  if (node.kind === "object") return entryOf(node.entries, step);
  if (node.kind !== "array") return undefined;
  const value = node.items[Number(step)];
  return value === undefined ? undefined : { key: step, keyAt: value.at, value };
}
