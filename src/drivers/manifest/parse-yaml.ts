import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Scalar,
  type YAMLMap,
} from "yaml";
import type { JsonEntry, JsonNode, Position } from "../../lib/json-node.ts";
import type { SyntaxProblem } from "../../lib/json-parser.ts";
import { maxDocumentValues, maxNestingDepth } from "../../lib/json-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { composeYaml, YamlLimitError } from "./compose-yaml.ts";
import { plainScalar } from "./yaml-scalar.ts";

const maxDocuments = 1000;
const tagPrefix = "tag:yaml.org,2002:";
const typedTags: ReadonlySet<string> = new Set(
  ["int", "float", "bool", "null"].map((name) => `${tagPrefix}${name}`),
);

/** One YAML document, or why it cannot be read. */
export type YamlDocument = Result<JsonNode, SyntaxProblem>;

/** The first document of a text; what follows it is not read. */
export function parseYaml(text: string): YamlDocument {
  return parseDocuments(text, { maxCount: 1 })[0] ?? ok({ kind: "null", at: start });
}

/** All documents of a text, in their order. Scalars mean what they mean to Kubernetes, in YAML 1.1. */
export function parseYamlDocuments(
  text: string,
  { areKeysUnique = false }: { readonly areKeysUnique?: boolean } = {},
): YamlDocument[] {
  const documents = parseDocuments(text, { areKeysUnique, maxCount: maxDocuments + 1 });
  if (documents.length <= maxDocuments) return documents;
  return [err({ message: `yaml: more than ${maxDocuments} documents: use more files`, at: start })];
}

const start: Position = { line: 1, column: 1 };

interface DocumentOptions {
  readonly areKeysUnique?: boolean;
  readonly maxCount: number;
}

function parseDocuments(
  text: string,
  { areKeysUnique = false, maxCount }: DocumentOptions,
): YamlDocument[] {
  const lines = new LineCounter();
  const documents: YamlDocument[] = [];
  try {
    for (const document of composeYaml(text, lines)) {
      documents.push(convertDocument(document, new Converter(text, lines, areKeysUnique)));
      if (documents.length === maxCount) return documents;
    }
  } catch (problem) {
    if (!(problem instanceof YamlLimitError)) throw problem;
    documents.push(err(placedError(problem.message, positionAt(lines, problem.offset))));
  }
  return documents;
}

function convertDocument(document: Document.Parsed, converter: Converter): YamlDocument {
  const [error] = document.errors;
  if (error !== undefined) {
    return err(placedError(error.message, positionAt(converter.lines, error.pos[0])));
  }
  try {
    return ok(converter.convert(document.contents, 0));
  } catch (problem) {
    if (problem instanceof YamlError) {
      return err({ message: problem.message, at: problem.at });
    }
    throw problem;
  }
}

function placedError(message: string, at: Position): SyntaxProblem {
  return { message: `yaml: line ${at.line}: ${message}`, at };
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
  /** How many nodes it has, with all aliases expanded. */
  readonly size: number;
  /** How many levels there are below it, with all aliases followed. */
  readonly height: number;
}

/** Owns what is known of the anchors of one document while it is walked in its order. */
class Converter {
  readonly lines: LineCounter;
  readonly #text: string;
  readonly #areKeysUnique: boolean;
  readonly #anchored = new Map<string, Node>();
  readonly #converted = new Map<Node, Converted>();
  #count = 0;
  #hasAliases = false;
  /** The deepest level since this was last set back. */
  #deepest = 0;

  constructor(text: string, lines: LineCounter, areKeysUnique: boolean) {
    this.#text = text;
    this.lines = lines;
    this.#areKeysUnique = areKeysUnique;
  }

  convert(node: Node | null, depth: number): JsonNode {
    const at = this.#position(node);
    if (node === null) {
      this.#add(1, at);
      return { kind: "null", at };
    }
    if (isAlias(node)) return this.#follow(node.source, depth, at);
    const before = this.#count;
    this.#add(1, at);
    if (node.anchor === undefined) return this.#convertNode(node, depth, at);
    this.#anchored.set(node.anchor, node);
    const deepestElsewhere = this.#deepest;
    this.#deepest = depth;
    const result = this.#convertNode(node, depth, at);
    const [size, height] = [this.#count - before, this.#deepest - depth];
    this.#converted.set(node, { node: result, size, height });
    this.#deepest = Math.max(this.#deepest, deepestElsewhere);
    return result;
  }

  #convertNode(node: Node, depth: number, at: Position): JsonNode {
    this.#reach(depth, at);
    if (isMap(node)) return { kind: "object", entries: this.#entries(node, depth), at };
    if (!isSeq(node)) return this.#scalar(node, at);
    const items = node.items.map((item) => this.convert(asNode(item), depth + 1));
    return { kind: "array", items, at };
  }

  #follow(name: string, depth: number, at: Position): JsonNode {
    const target = this.#anchored.get(name);
    if (target === undefined) throw new YamlError("yaml: unknown anchor referenced", at);
    const converted = this.#converted.get(target);
    if (converted === undefined) {
      throw new YamlError(`yaml: anchor '${name}' value contains itself`, at);
    }
    this.#hasAliases = true;
    this.#add(converted.size, at);
    this.#reach(depth + converted.height, at);
    return converted.node;
  }

  #reach(depth: number, at: Position): void {
    if (depth > maxNestingDepth) {
      throw new YamlError(`yaml: exceeded max depth of ${maxNestingDepth}`, at);
    }
    this.#deepest = Math.max(this.#deepest, depth);
  }

  #add(count: number, at: Position): void {
    this.#count += count;
    if (this.#count <= maxDocumentValues) return;
    // Aliases can make a small text mean a huge document.
    if (this.#hasAliases) throw new YamlError("yaml: document contains excessive aliasing", at);
    const message = `yaml: line ${at.line}: more than ${maxDocumentValues} values: use more files`;
    throw new YamlError(message, at);
  }

  #position(node: Node | null): Position {
    return positionAt(this.lines, node?.range?.[0] ?? 0);
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

  #checkUnique(keyNode: Node | null, seen: Set<string>): void {
    if (!this.#areKeysUnique || !isScalar(keyNode)) return;
    const key = String(keyNode.value);
    if (seen.has(key)) {
      const at = this.#position(keyNode);
      const shown = keyNode.source ?? key;
      throw new YamlError(`yaml: line ${at.line}: the key ${shown} is there twice: remove one`, at);
    }
    seen.add(key);
  }

  #collect(map: YAMLMap, depth: number, entries: Map<string, JsonEntry>): void {
    const seen = new Set<string>();
    for (const pair of map.items) {
      const keyNode = asNode(pair.key);
      this.#checkUnique(keyNode, seen);
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
