import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type YAMLMap,
} from "yaml";
import { err, ok, type Result } from "../../lib/result.ts";
import type { JsonEntry, JsonNode, Position } from "../../model/manifest/json-node.ts";
import type { SyntaxProblem } from "../../model/manifest/json-parser.ts";
import { plainScalar } from "./yaml-scalar.ts";

// Aliases can make a small text mean a huge document.
const maxNodes = 1_000_000;
const maxDepth = 1000;

/** One YAML document, or why it is none. */
export type YamlDocument = Result<JsonNode, SyntaxProblem>;

/** The first document of a text; what follows it is not looked at. */
export function parseYaml(text: string): YamlDocument {
  return parseYamlDocuments(text)[0] ?? ok({ kind: "null", at: { line: 1, column: 1 } });
}

/** All documents of a text, in their order. Scalars mean what they mean to Kubernetes, in YAML 1.1. */
export function parseYamlDocuments(
  text: string,
  { areKeysUnique = false }: { readonly areKeysUnique?: boolean } = {},
): YamlDocument[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    version: "1.1",
    schema: "failsafe",
    uniqueKeys: areKeysUnique,
    lineCounter: lines,
    prettyErrors: false,
    logLevel: "silent",
  });
  if (!Array.isArray(documents)) return [];
  return documents.map((document) => convertDocument(document, lines));
}

function convertDocument(document: Document.Parsed, lines: LineCounter): YamlDocument {
  const [error] = document.errors;
  if (error !== undefined) {
    const at = positionAt(lines, error.pos[0]);
    return err({ message: `yaml: line ${at.line}: ${error.message}`, at });
  }
  const converter = new Converter(document, lines);
  try {
    return ok(converter.convert(document.contents, 0));
  } catch (problem) {
    if (problem instanceof YamlError) {
      return err({ message: problem.message, at: problem.at });
    }
    throw problem;
  }
}

class YamlError extends Error {
  readonly at: Position;

  constructor(message: string, at: Position) {
    super(message);
    this.at = at;
  }
}

/** Owns the count of nodes made from one document. */
class Converter {
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;
  #count = 0;

  constructor(document: Document.Parsed, lines: LineCounter) {
    this.#document = document;
    this.#lines = lines;
  }

  convert(node: Node | null, depth: number): JsonNode {
    const at = positionAt(this.#lines, node?.range?.[0] ?? 0);
    this.#count++;
    if (this.#count > maxNodes || depth > maxDepth) {
      throw new YamlError("yaml: document contains excessive aliasing", at);
    }
    if (node === null) return { kind: "null", at };
    if (isAlias(node)) {
      const target = node.resolve(this.#document);
      if (target === undefined) {
        throw new YamlError(`yaml: unknown anchor '${node.source}' referenced`, at);
      }
      return this.convert(target, depth + 1);
    }
    if (isMap(node)) return { kind: "object", entries: this.#entries(node, depth), at };
    if (isSeq(node)) {
      const items = node.items.map((item) => this.convert(asNode(item), depth + 1));
      return { kind: "array", items, at };
    }
    return this.#scalar(node, at);
  }

  #scalar(node: Node, at: Position): JsonNode {
    if (!isScalar(node)) throw new YamlError("yaml: unexpected node", at);
    const text = typeof node.value === "string" ? node.value : "";
    const isPlain = node.type === "PLAIN" || node.type === undefined;
    if (!isPlain || node.tag === "tag:yaml.org,2002:str")
      return { kind: "string", value: text, at };
    const value = plainScalar(node.source ?? text, at);
    if (value === undefined) throw new YamlError(`json: unsupported value: ${text}`, at);
    return value;
  }

  /** Entries in the order of their names, which is how they reach the decoder; of two with one name the last counts. */
  #entries(map: YAMLMap, depth: number): JsonEntry[] {
    const entries = new Map<string, JsonEntry>();
    this.#collect(map, depth, entries);
    return [...entries.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  #collect(map: YAMLMap, depth: number, entries: Map<string, JsonEntry>): void {
    for (const pair of map.items) {
      if (!isPair(pair)) continue;
      const keyNode = asNode(pair.key);
      if (isScalar(keyNode) && keyNode.type === "PLAIN" && keyNode.value === "<<") {
        this.#merge(asNode(pair.value), depth, entries);
        continue;
      }
      const keyAt = positionAt(this.#lines, keyNode?.range?.[0] ?? 0);
      const key = keyText(this.convert(keyNode, depth + 1), keyAt);
      const value = this.convert(asNode(pair.value), depth + 1);
      entries.set(key, { key, keyAt, value });
    }
  }

  #merge(node: Node | null, depth: number, entries: Map<string, JsonEntry>): void {
    const target = isAlias(node) ? (node.resolve(this.#document) ?? null) : node;
    if (isMap(target)) {
      this.#collect(target, depth + 1, entries);
    } else if (isSeq(target)) {
      // The first of a list has precedence, so it is applied last.
      for (const item of target.items.toReversed()) this.#merge(asNode(item), depth + 1, entries);
    } else {
      const at = positionAt(this.#lines, node?.range?.[0] ?? 0);
      throw new YamlError("yaml: map merge requires map or sequence of maps as the value", at);
    }
  }
}

function asNode(value: unknown): Node | null {
  return isMap(value) || isSeq(value) || isScalar(value) || isAlias(value) ? value : null;
}

function keyText(key: JsonNode, at: Position): string {
  switch (key.kind) {
    case "string":
      return key.value;
    case "number":
      return key.text;
    case "bool":
      return String(key.value);
    default:
      throw new YamlError(`unsupported map key of type: ${key.kind}`, at);
  }
}

function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}
