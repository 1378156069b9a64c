import { quoteText } from "../go-text.ts";
import { parseDocuments } from "./parse-documents.ts";
import { resolveScalar } from "./resolve-scalar.ts";
import type { YamlMapping, YamlNode } from "./yaml-node.ts";

export interface DuplicateKey {
  /** As messages show it: a text in quotes, a number as it is. */
  readonly key: string;
  /** The line of the value that came later. */
  readonly line: number;
}

/** Keys that stand more than once in one map of a text's first document, innermost first. Throws a YamlProblem. */
export function listDuplicateKeys(text: string): readonly DuplicateKey[] {
  const found: DuplicateKey[] = [];
  const first = parseDocuments(text).next().value;
  if (first !== undefined) collect(first, found);
  return found;
}

function collect(node: YamlNode, found: DuplicateKey[]): void {
  if (node.kind === "sequence") for (const item of node.items) collect(item, found);
  if (node.kind === "mapping") collectMapping(node, found);
}

function collectMapping({ pairs }: YamlMapping, found: DuplicateKey[]): void {
  const seen = new Set<string>();
  for (const { key, value } of pairs) {
    collect(value, found);
    const shown = shownKey(key);
    if (shown === undefined) continue;
    if (seen.has(shown)) found.push({ key: shown, line: value.at.line });
    seen.add(shown);
  }
}

function shownKey(key: YamlNode): string | undefined {
  if (key.kind !== "scalar") return undefined;
  if (key.style === "plain" && key.value === "<<") return undefined;
  const resolved = resolveScalar(key);
  switch (resolved.kind) {
    case "bool":
    case "integer":
    case "float":
      return String(resolved.value);
    default:
      return quoteText(key.value);
  }
}
