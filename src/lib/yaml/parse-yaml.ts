import type { JsonEntry, JsonNode, Position } from "../json-node.ts";
import type { SyntaxProblem } from "../json-parser.ts";
import { maxDocumentValues, maxNestingDepth } from "../json-text.ts";
import { err, ok, type Result } from "../result.ts";
import { keyText } from "./key-text.ts";
import { parseDocuments } from "./parse-documents.ts";
import { resolveScalar } from "./resolve-scalar.ts";
import type { YamlAlias, YamlMapping, YamlNode, YamlScalar } from "./yaml-node.ts";
import { YamlProblem } from "./yaml-problem.ts";

const maxDocuments = 1000;

/** One YAML document, or why it cannot be read. */
export type YamlDocument = Result<JsonNode, SyntaxProblem>;

/** The first document of a text; what follows it is not read. */
export function parseYaml(text: string): YamlDocument {
  return readDocuments(text, { maxCount: 1 })[0] ?? ok({ kind: "null", at: start });
}

/** All documents of a text, in their order. Scalars mean what they mean to Kubernetes, in YAML 1.1. */
export function parseYamlDocuments(
  text: string,
  { areKeysUnique = false }: { readonly areKeysUnique?: boolean } = {},
): YamlDocument[] {
  const documents = readDocuments(text, { areKeysUnique, maxCount: maxDocuments + 1 });
  if (documents.length <= maxDocuments) return documents;
  return [err({ message: `yaml: more than ${maxDocuments} documents: use more files`, at: start })];
}

const start: Position = { line: 1, column: 1 };

interface DocumentOptions {
  readonly areKeysUnique?: boolean;
  readonly maxCount: number;
}

function readDocuments(
  text: string,
  { areKeysUnique = false, maxCount }: DocumentOptions,
): YamlDocument[] {
  const documents: YamlDocument[] = [];
  try {
    for (const node of parseDocuments(text)) {
      documents.push(convertDocument(node, areKeysUnique));
      if (documents.length === maxCount) return documents;
    }
  } catch (problem) {
    documents.push(err(syntaxProblem(problem)));
  }
  return documents;
}

function convertDocument(node: YamlNode, areKeysUnique: boolean): YamlDocument {
  try {
    return ok(new Converter(areKeysUnique).convert(node, 0));
  } catch (problem) {
    return err(syntaxProblem(problem));
  }
}

function syntaxProblem(problem: unknown): SyntaxProblem {
  if (!(problem instanceof YamlProblem)) throw problem;
  const { message, at } = problem;
  return { message: `yaml: line ${at.line}: ${message}`, at };
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
  readonly #areKeysUnique: boolean;
  readonly #anchored = new Map<string, YamlNode>();
  readonly #converted = new Map<YamlNode, Converted>();
  #count = 0;
  #hasAliases = false;
  /** The deepest level since this was last set back. */
  #deepest = 0;

  constructor(areKeysUnique: boolean) {
    this.#areKeysUnique = areKeysUnique;
  }

  convert(node: YamlNode, depth: number): JsonNode {
    if (node.kind === "alias") return this.#follow(node, depth);
    const before = this.#count;
    this.#add(1, node.at);
    if (node.anchor === undefined) return this.#convertNode(node, depth);
    this.#anchored.set(node.anchor, node);
    const deepestElsewhere = this.#deepest;
    this.#deepest = depth;
    const result = this.#convertNode(node, depth);
    const [size, height] = [this.#count - before, this.#deepest - depth];
    this.#converted.set(node, { node: result, size, height });
    this.#deepest = Math.max(this.#deepest, deepestElsewhere);
    return result;
  }

  #convertNode(node: Exclude<YamlNode, YamlAlias>, depth: number): JsonNode {
    const { at } = node;
    this.#reach(depth, at);
    switch (node.kind) {
      case "mapping":
        return { kind: "object", entries: this.#entries(node, depth), at };
      case "sequence":
        return {
          kind: "array",
          items: node.items.map((item) => this.convert(item, depth + 1)),
          at,
        };
      case "scalar":
        return jsonScalar(node);
    }
  }

  #follow({ name, at }: YamlAlias, depth: number): JsonNode {
    const target = this.#anchored.get(name);
    if (target?.kind === "scalar") {
      this.#hasAliases = true;
      this.#add(1, at);
      return jsonScalar(target);
    }
    const converted = target && this.#converted.get(target);
    if (converted === undefined) {
      throw new YamlProblem(`anchor '${name}' value contains itself`, at);
    }
    this.#hasAliases = true;
    this.#add(converted.size, at);
    this.#reach(depth + converted.height, at);
    return converted.node;
  }

  #reach(depth: number, at: Position): void {
    if (depth > maxNestingDepth) {
      throw new YamlProblem(`exceeded max depth of ${maxNestingDepth}`, at);
    }
    this.#deepest = Math.max(this.#deepest, depth);
  }

  #add(count: number, at: Position): void {
    this.#count += count;
    if (this.#count <= maxDocumentValues) return;
    // Aliases can make a small text mean a huge document.
    if (this.#hasAliases) throw new YamlProblem("document contains excessive aliasing", at);
    throw new YamlProblem(`more than ${maxDocumentValues} values: use more files`, at);
  }

  /** Entries in the order of their names, which is how they reach the decoder; of two with one name the last counts. */
  #entries(mapping: YamlMapping, depth: number): JsonEntry[] {
    const entries = new Map<string, JsonEntry>();
    const seen = new Set<string>();
    for (const { key: keyNode, value: valueNode } of mapping.pairs) {
      if (isMergeKey(keyNode)) {
        this.#merge(valueNode, depth + 1, entries);
        continue;
      }
      this.#checkUnique(keyNode, seen);
      const key = this.#key(keyNode, depth + 1);
      const value = this.convert(valueNode, depth + 1);
      entries.set(key, { key, keyAt: keyNode.at, value });
    }
    return [...entries.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  #key(node: YamlNode, depth: number): string {
    const target = node.kind === "alias" ? this.#anchored.get(node.name) : node;
    if (target?.kind !== "scalar") {
      const { kind } = this.convert(node, depth);
      throw new YamlProblem(`invalid map key: a key must be a text, not ${kind}`, node.at);
    }
    this.#add(1, node.at);
    if (target.anchor !== undefined) this.#anchored.set(target.anchor, target);
    return keyText(target);
  }

  #checkUnique(keyNode: YamlNode, seen: Set<string>): void {
    if (!this.#areKeysUnique || keyNode.kind !== "scalar") return;
    const { value, at } = keyNode;
    if (seen.has(value)) throw new YamlProblem(`the key ${value} is there twice: remove one`, at);
    seen.add(value);
  }

  /** What a merge key brings in; of a list the first has precedence, so it is applied last. */
  #merge(node: YamlNode, depth: number, entries: Map<string, JsonEntry>): void {
    const isList = node.kind === "sequence";
    const merged = this.convert(node, depth);
    const objects = isList && merged.kind === "array" ? merged.items.toReversed() : [merged];
    for (const each of objects) {
      if (each.kind !== "object") {
        const message = "map merge requires map or sequence of maps as the value";
        throw new YamlProblem(message, each.at);
      }
      for (const entry of each.entries) entries.set(entry.key, entry);
    }
  }
}

function isMergeKey(node: YamlNode): boolean {
  if (node.kind !== "scalar" || node.value !== "<<") return false;
  return node.tag === undefined ? node.style === "plain" : mergeTags.has(node.tag);
}

const mergeTags: ReadonlySet<string> = new Set(["!", "tag:yaml.org,2002:merge"]);

function jsonScalar(node: YamlScalar): JsonNode {
  const { at } = node;
  const resolved = resolveScalar(node);
  switch (resolved.kind) {
    case "null":
      return { kind: "null", at };
    case "bool":
      return { kind: "bool", value: resolved.value, at };
    case "integer":
      return { kind: "number", text: String(resolved.value), at };
    case "float":
      return { kind: "number", text: floatText(resolved.value, at), at };
    default:
      return { kind: "string", value: resolved.value, at };
  }
}

function floatText(value: number, at: Position): string {
  if (!Number.isFinite(value)) throw new YamlProblem("a number of JSON is finite", at);
  return Object.is(value, -0) ? "-0" : String(value);
}
