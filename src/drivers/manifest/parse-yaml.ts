import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type Scalar,
  type YAMLMap,
} from "yaml";
import { err, ok, type Result } from "../../lib/result.ts";
import type { JsonEntry, JsonNode, Position } from "../../model/manifest/json-node.ts";
import type { SyntaxProblem } from "../../model/manifest/json-parser.ts";
import { plainScalar } from "./yaml-scalar.ts";

// Aliases can make a small text mean a huge document.
const maxNodes = 1_000_000;
const maxDepth = 1000;
const tagPrefix = "tag:yaml.org,2002:";
const typedTags: ReadonlySet<string> = new Set(
  ["int", "float", "bool", "null"].map((name) => `${tagPrefix}${name}`),
);

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
    strict: false,
    uniqueKeys: areKeysUnique,
    lineCounter: lines,
    prettyErrors: false,
    logLevel: "silent",
  });
  if (!Array.isArray(documents)) return [];
  return documents.map((document) => convertDocument(document, text, lines));
}

function convertDocument(
  document: Document.Parsed,
  text: string,
  lines: LineCounter,
): YamlDocument {
  const [error] = document.errors;
  if (error !== undefined) {
    const at = positionAt(lines, error.pos[0]);
    const message =
      error.code === "DUPLICATE_KEY"
        ? `the key ${keyAtOffset(text, error.pos[0])} is there twice: remove one`
        : // The library's own words for text that is nested without end.
          error.message.replace("Maximum call stack size exceeded", "exceeded max depth");
    return err({ message: `yaml: line ${at.line}: ${message}`, at });
  }
  const converter = new Converter(text, lines);
  try {
    return ok(converter.convert(document.contents, 0));
  } catch (problem) {
    if (problem instanceof YamlError) {
      return err({ message: problem.message, at: problem.at });
    }
    throw problem;
  }
}

/** A key as it is written. */
function keyAtOffset(text: string, offset: number): string {
  const [line = ""] = text.slice(offset).split("\n", 1);
  return line.split(/:(?:\s|$)/, 1)[0] ?? "";
}

class YamlError extends Error {
  readonly at: Position;

  constructor(message: string, at: Position) {
    super(message);
    this.at = at;
  }
}

interface Converted {
  readonly node: JsonNode;
  /** How many nodes it stands for, with all aliases followed. */
  readonly size: number;
}

/** Owns what is known of the anchors of one document while it is walked in its order. */
class Converter {
  readonly #text: string;
  readonly #lines: LineCounter;
  readonly #anchored = new Map<string, Node>();
  readonly #converted = new Map<Node, Converted>();
  #count = 0;

  constructor(text: string, lines: LineCounter) {
    this.#text = text;
    this.#lines = lines;
  }

  convert(node: Node | null, depth: number): JsonNode {
    const at = this.#position(node);
    if (node === null) {
      this.#add(1, at);
      return { kind: "null", at };
    }
    if (isAlias(node)) return this.#follow(node.source, at);
    if (depth > maxDepth) throw new YamlError("yaml: exceeded max depth", at);
    const before = this.#count;
    this.#add(1, at);
    if (node.anchor !== undefined) this.#anchored.set(node.anchor, node);
    const result = this.#convertNode(node, depth, at);
    if (node.anchor !== undefined) {
      this.#converted.set(node, { node: result, size: this.#count - before });
    }
    return result;
  }

  #convertNode(node: Node, depth: number, at: Position): JsonNode {
    if (isMap(node)) return { kind: "object", entries: this.#entries(node, depth), at };
    if (!isSeq(node)) return this.#scalar(node, at);
    const items = node.items.map((item) => this.convert(asNode(item), depth + 1));
    return { kind: "array", items, at };
  }

  #follow(name: string, at: Position): JsonNode {
    const target = this.#anchored.get(name);
    if (target === undefined) throw new YamlError(`yaml: unknown anchor '${name}' referenced`, at);
    const converted = this.#converted.get(target);
    if (converted === undefined) {
      throw new YamlError(`yaml: anchor '${name}' value contains itself`, at);
    }
    this.#add(converted.size, at);
    return converted.node;
  }

  #add(count: number, at: Position): void {
    this.#count += count;
    if (this.#count > maxNodes) {
      throw new YamlError("yaml: document contains excessive aliasing", at);
    }
  }

  #position(node: Node | null): Position {
    return positionAt(this.#lines, node?.range?.[0] ?? 0);
  }

  #scalar(node: Node, at: Position): JsonNode {
    if (!isScalar(node)) throw new YamlError("yaml: unexpected node", at);
    const text = typeof node.value === "string" ? node.value : "";
    switch (node.tag) {
      case undefined:
        break;
      case `${tagPrefix}binary`:
        return { kind: "string", value: Buffer.from(text, "base64").toString("utf8"), at };
      default:
        if (!typedTags.has(node.tag)) return { kind: "string", value: text, at };
        return plainNode(text, at);
    }
    if (node.type === "PLAIN" || node.type === undefined) {
      return plainNode(node.source ?? text, at);
    }
    return { kind: "string", value: this.#withoutAddedBreak(node, text), at };
  }

  /** A block that ends with the file has no line break at its end unless the file has one. */
  #withoutAddedBreak(node: Scalar, text: string): string {
    const isBlock = node.type === "BLOCK_LITERAL" || node.type === "BLOCK_FOLDED";
    const isLast = (node.range?.[1] ?? 0) >= this.#text.length && !this.#text.endsWith("\n");
    return isBlock && isLast && text.endsWith("\n") ? text.slice(0, -1) : text;
  }

  /** Entries in the order of their names, which is how they reach the decoder; of two with one name the last counts. */
  #entries(map: YAMLMap, depth: number): JsonEntry[] {
    const entries = new Map<string, JsonEntry>();
    this.#collect(map, depth, entries);
    return [...entries.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  #collect(map: YAMLMap, depth: number, entries: Map<string, JsonEntry>): void {
    for (const pair of map.items) {
      const keyNode = asNode(pair.key);
      if (isScalar(keyNode) && keyNode.type === "PLAIN" && keyNode.value === "<<") {
        mergeEntries(this.convert(asNode(pair.value), depth + 1), entries);
        continue;
      }
      const keyAt = this.#position(keyNode);
      const key = keyText(this.convert(keyNode, depth + 1), keyAt);
      const value = this.convert(asNode(pair.value), depth + 1);
      entries.set(key, { key, keyAt, value });
    }
  }
}

/** What a merge key brings in; of a list the first has precedence, so it is applied last. */
function mergeEntries(merged: JsonNode, entries: Map<string, JsonEntry>): void {
  if (merged.kind === "object") {
    for (const entry of merged.entries) entries.set(entry.key, entry);
  } else if (merged.kind === "array" && merged.items.every(({ kind }) => kind === "object")) {
    for (const item of merged.items.toReversed()) mergeEntries(item, entries);
  } else {
    const message = "yaml: map merge requires map or sequence of maps as the value";
    throw new YamlError(message, merged.at);
  }
}

function asNode(value: unknown): Node | null {
  return isMap(value) || isSeq(value) || isScalar(value) || isAlias(value) ? value : null;
}

function plainNode(text: string, at: Position): JsonNode {
  const value = plainScalar(text, at);
  if (value === undefined) {
    throw new YamlError(`json: unsupported value: ${notFiniteName(text)}`, at);
  }
  return value;
}

function notFiniteName(text: string): string {
  if (/nan$/i.test(text)) return "NaN";
  return text.startsWith("-") ? "-Inf" : "+Inf";
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
      throw new YamlError(`yaml: invalid map key: a key must be a text, not ${key.kind}`, at);
  }
}

function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}
