import { isMap, isScalar, isSeq, LineCounter, type YAMLMap } from "yaml";
import { quoteText } from "../../lib/go-text.ts";
import { composeYaml } from "./compose-yaml.ts";
import { plainScalar } from "./yaml-scalar.ts";

export interface DuplicateKey {
  /** As messages show it: a text in quotes, a number as it is. */
  readonly key: string;
  /** The line of the value that came later. */
  readonly line: number;
}

/** Keys that stand more than once in one map of a text's first document, innermost first. */
export function listDuplicateKeys(text: string): readonly DuplicateKey[] {
  const lines = new LineCounter();
  const first = composeYaml(text, lines).next().value;
  const found: DuplicateKey[] = [];
  collect(first?.contents, lines, found);
  return found;
}

function collect(node: unknown, lines: LineCounter, found: DuplicateKey[]): void {
  if (isSeq(node)) for (const item of node.items) collect(item, lines, found);
  if (isMap(node)) collectMap(node, lines, found);
}

function collectMap(map: YAMLMap, lines: LineCounter, found: DuplicateKey[]): void {
  const seen = new Set<string>();
  for (const { key, value } of map.items) {
    collect(value, lines, found);
    const shown = shownKey(key);
    if (shown === undefined) continue;
    if (seen.has(shown)) found.push({ key: shown, line: lineOf(value ?? key, lines) });
    seen.add(shown);
  }
}

function shownKey(key: unknown): string | undefined {
  if (!isScalar(key) || typeof key.value !== "string") return undefined;
  if (key.type !== "PLAIN") return quoteText(key.value);
  if (key.value === "<<") return undefined;
  const scalar = plainScalar(key.value, { line: 1, column: 1 });
  if (scalar?.kind === "number") return scalar.text;
  return scalar?.kind === "bool" ? String(scalar.value) : quoteText(key.value);
}

function lineOf(node: unknown, lines: LineCounter): number {
  const offset = isMap(node) || isSeq(node) || isScalar(node) ? (node.range?.[0] ?? 0) : 0;
  return lines.linePos(offset).line;
}
