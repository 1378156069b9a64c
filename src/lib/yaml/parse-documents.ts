import type { Position } from "../json-node.ts";
import { maxDocumentLength, maxNestingDepth } from "../json-text.ts";
import { utf8Length } from "../utf8.ts";
import type { YamlNode, YamlPair, YamlScalar } from "./yaml-node.ts";
import { YamlProblem } from "./yaml-problem.ts";
import { YamlScanner } from "./yaml-scanner.ts";
import type { TagToken, YamlToken } from "./yaml-token.ts";

type TokenKind = YamlToken["kind"];

// A line with a key and a value has four.
const maxTokens = 150_000;

/** The documents of a text, one by one. Throws a YamlProblem; what follows it is not read. */
export function* parseDocuments(text: string): Generator<YamlNode> {
  if (text.length > maxDocumentLength) {
    throw new YamlProblem(`larger than ${maxDocumentLength} characters`, { line: 1, column: 1 });
  }
  yield* new DocumentParser(text).documents();
}

/** All but tab, line breaks and what can be printed. */
function isForbidden(code: number): boolean {
  if (code < 0x20) return code !== 0x09 && code !== 0x0a && code !== 0x0d;
  return (code > 0x7e && code < 0xa0 && code !== 0x85) || code > 0xff_fd;
}

function offsetOfForbidden(text: string): number {
  for (let offset = 0; offset < text.length; offset++) {
    if (isForbidden(text.charCodeAt(offset))) return offset;
  }
  return -1;
}

// Kubernetes looks at a text in blocks of this many bytes: what stands after the first document may never be seen.
const blockBytes = 512;

function findForbidden(
  text: string,
): { readonly at: Position; readonly noticedFrom: number } | undefined {
  const offset = offsetOfForbidden(text);
  if (offset < 0) return undefined;
  const before = text.slice(0, offset);
  const lines = before.split("\n");
  const at = { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
  return { at, noticedFrom: Math.max(0, offset - (utf8Length(before) % blockBytes)) };
}

const defaultTagPrefixes: readonly (readonly [string, string])[] = [
  ["!", "!"],
  ["!!", "tag:yaml.org,2002:"],
];

const mayBeginDocument: ReadonlySet<TokenKind> = new Set<TokenKind>([
  "version",
  "tagDirective",
  "documentStart",
]);
const endsDocument: ReadonlySet<TokenKind> = new Set<TokenKind>([
  ...mayBeginDocument,
  "documentEnd",
  "end",
]);
const endsBlockNode: ReadonlySet<TokenKind> = new Set<TokenKind>(["key", "value", "blockEnd"]);

interface NodeContext {
  /** Whether a block collection may stand here. */
  readonly isBlock: boolean;
  /** Whether `- ` may stand here as deep as the key. */
  readonly allowsIndentless: boolean;
}

const inBlock: NodeContext = { isBlock: true, allowsIndentless: false };
const inBlockMapping: NodeContext = { isBlock: true, allowsIndentless: true };
const inFlow: NodeContext = { isBlock: false, allowsIndentless: false };

interface Properties {
  readonly anchor?: string | undefined;
  readonly tag?: string | undefined;
}

class DocumentParser {
  readonly #scanner: YamlScanner;
  /** Where a character stands that no YAML may have. */
  readonly #forbidden: { readonly at: Position; readonly noticedFrom: number } | undefined;
  #tagPrefixes = new Map<string, string>();
  #anchors = new Set<string>();
  #depth = 0;

  constructor(text: string) {
    const content = text.startsWith("\uFEFF") ? text.slice(1) : text;
    this.#scanner = new YamlScanner(content, maxNestingDepth);
    this.#forbidden = findForbidden(content);
  }

  *documents(): Generator<YamlNode> {
    let isFirst = true;
    for (;;) {
      if (!isFirst) while (this.#peek().kind === "documentEnd") this.#next();
      const token = this.#peek();
      if (token.kind === "end") return;
      const isBare = isFirst && !mayBeginDocument.has(token.kind);
      this.#beginDocument();
      if (!isBare) this.#expect("documentStart", "did not find expected <document start>");
      const first = this.#peek();
      const document =
        !isBare && endsDocument.has(first.kind) ? emptyScalar(first.at) : this.#node(inBlock);
      if (this.#peek().kind === "documentEnd") this.#next();
      yield document;
      isFirst = false;
    }
  }

  #peek(): YamlToken {
    return this.#checked(() => this.#scanner.peek());
  }

  #next(): YamlToken {
    return this.#checked(() => this.#scanner.next());
  }

  /** A character that no YAML may have is the problem, whatever the scanner makes of it. */
  #checked(read: () => YamlToken): YamlToken {
    try {
      const token = read();
      this.#checkCharacters();
      if (this.#scanner.count <= maxTokens) return token;
      const message = `more than ${maxTokens} tokens (keys, values, brackets): use more files`;
      throw new YamlProblem(message, token.at);
    } catch (problem) {
      this.#checkCharacters();
      throw problem;
    }
  }

  #checkCharacters(): void {
    const forbidden = this.#forbidden;
    if (forbidden === undefined || this.#scanner.offset < forbidden.noticedFrom) return;
    throw new YamlProblem("control characters are not allowed", forbidden.at);
  }

  #expect(kind: TokenKind, message: string): void {
    const token = this.#peek();
    if (token.kind !== kind) throw new YamlProblem(message, token.at);
    this.#next();
  }

  #skipIf(kind: TokenKind): boolean {
    if (this.#peek().kind !== kind) return false;
    this.#next();
    return true;
  }

  #beginDocument(): void {
    const prefixes = new Map<string, string>();
    let hasVersion = false;
    for (;;) {
      const token = this.#peek();
      if (token.kind === "version") {
        if (hasVersion) throw new YamlProblem("found duplicate %YAML directive", token.at);
        if (token.version !== "1.1") {
          throw new YamlProblem("found incompatible YAML document", token.at);
        }
        hasVersion = true;
      } else if (token.kind === "tagDirective") {
        if (prefixes.has(token.handle)) {
          throw new YamlProblem("found duplicate %TAG directive", token.at);
        }
        prefixes.set(token.handle, token.prefix);
      } else break;
      this.#next();
    }
    this.#tagPrefixes = new Map([...defaultTagPrefixes, ...prefixes]);
    this.#anchors = new Set();
  }

  #node(context: NodeContext): YamlNode {
    this.#depth++;
    if (this.#depth > maxNestingDepth + 1) {
      throw new YamlProblem(`exceeded max depth of ${maxNestingDepth}`, this.#peek().at);
    }
    const node = this.#readNode(context);
    this.#depth--;
    return node;
  }

  #readNode(context: NodeContext): YamlNode {
    const first = this.#peek();
    if (first.kind === "alias") {
      // Not the name: it may be a password with a star and no quotes.
      if (!this.#anchors.has(first.name)) {
        throw new YamlProblem("unknown anchor referenced", first.at);
      }
      this.#next();
      return { kind: "alias", name: first.name, at: first.at };
    }
    const properties = this.#properties();
    if (properties.anchor !== undefined) this.#anchors.add(properties.anchor);
    const token = this.#peek();
    const { at } = token;
    if (context.allowsIndentless && token.kind === "blockEntry") {
      return { kind: "sequence", items: this.#indentlessItems(), at, ...properties };
    }
    switch (token.kind) {
      case "scalar":
        this.#next();
        return { kind: "scalar", value: token.value, style: token.style, at, ...properties };
      case "flowSequenceStart":
        return { kind: "sequence", items: this.#flowItems(), at, ...properties };
      case "flowMappingStart":
        return { kind: "mapping", pairs: this.#flowPairs(), at, ...properties };
      case "blockSequenceStart":
        if (!context.isBlock) break;
        return { kind: "sequence", items: this.#blockItems(), at, ...properties };
      case "blockMappingStart":
        if (!context.isBlock) break;
        return { kind: "mapping", pairs: this.#blockPairs(), at, ...properties };
      default:
    }
    if (properties.anchor !== undefined || properties.tag !== undefined) {
      return { ...emptyScalar(first.at), ...properties };
    }
    throw new YamlProblem("did not find expected node content", at);
  }

  /** An anchor and a tag, in either order. */
  #properties(): Properties {
    const anchor = this.#anchor();
    const token = this.#peek();
    if (token.kind !== "tag") return { anchor };
    this.#next();
    return { anchor: anchor ?? this.#anchor(), tag: this.#fullTag(token) };
  }

  #anchor(): string | undefined {
    const token = this.#peek();
    if (token.kind !== "anchor") return undefined;
    this.#next();
    return token.name;
  }

  #fullTag({ handle, suffix, at }: TagToken): string {
    if (handle === "") return suffix;
    const prefix = this.#tagPrefixes.get(handle);
    if (prefix === undefined) throw new YamlProblem("found undefined tag handle", at);
    return prefix + suffix;
  }

  #blockItems(): YamlNode[] {
    this.#next();
    const items: YamlNode[] = [];
    while (this.#skipIf("blockEntry")) {
      const { kind, at } = this.#peek();
      const isEmpty = kind === "blockEntry" || kind === "blockEnd";
      items.push(isEmpty ? emptyScalar(at) : this.#node(inBlock));
    }
    this.#expect("blockEnd", "did not find expected '-' indicator");
    return items;
  }

  #indentlessItems(): YamlNode[] {
    const items: YamlNode[] = [];
    while (this.#skipIf("blockEntry")) {
      const { kind, at } = this.#peek();
      const isEmpty = kind === "blockEntry" || endsBlockNode.has(kind);
      items.push(isEmpty ? emptyScalar(at) : this.#node(inBlock));
    }
    return items;
  }

  #blockPairs(): YamlPair[] {
    this.#next();
    const pairs: YamlPair[] = [];
    while (this.#skipIf("key")) {
      const key = this.#blockMappingNode();
      const value = this.#skipIf("value") ? this.#blockMappingNode() : emptyScalar(this.#peek().at);
      pairs.push({ key, value });
    }
    this.#expect("blockEnd", "did not find expected key");
    return pairs;
  }

  #blockMappingNode(): YamlNode {
    const { kind, at } = this.#peek();
    return endsBlockNode.has(kind) ? emptyScalar(at) : this.#node(inBlockMapping);
  }

  #flowItems(): YamlNode[] {
    this.#next();
    const items: YamlNode[] = [];
    while (!this.#skipIf("flowSequenceEnd")) {
      if (items.length > 0) {
        this.#expect("flowEntry", "did not find expected ',' or ']'");
        if (this.#skipIf("flowSequenceEnd")) return items;
      }
      const { at } = this.#peek();
      items.push(
        this.#skipIf("key")
          ? { kind: "mapping", pairs: [this.#flowPair("flowSequenceEnd")], at }
          : this.#node(inFlow),
      );
    }
    return items;
  }

  #flowPairs(): YamlPair[] {
    this.#next();
    const pairs: YamlPair[] = [];
    while (!this.#skipIf("flowMappingEnd")) {
      if (pairs.length > 0) {
        this.#expect("flowEntry", "did not find expected ',' or '}'");
        if (this.#skipIf("flowMappingEnd")) return pairs;
      }
      if (this.#skipIf("key")) pairs.push(this.#flowPair("flowMappingEnd"));
      else {
        const key = this.#node(inFlow);
        pairs.push({ key, value: emptyScalar(this.#peek().at) });
      }
    }
    return pairs;
  }

  #flowPair(end: "flowSequenceEnd" | "flowMappingEnd"): YamlPair {
    const isKeyEmpty = this.#peek().kind === "value" || this.#isFlowEnd(end);
    const key = isKeyEmpty ? emptyScalar(this.#peek().at) : this.#node(inFlow);
    // In a sequence, what ends an empty key is taken for the key.
    if (isKeyEmpty && end === "flowSequenceEnd") this.#next();
    const hasValue = this.#skipIf("value") && !this.#isFlowEnd(end);
    return { key, value: hasValue ? this.#node(inFlow) : emptyScalar(this.#peek().at) };
  }

  #isFlowEnd(end: TokenKind): boolean {
    const { kind } = this.#peek();
    return kind === "flowEntry" || kind === end;
  }
}

function emptyScalar(at: Position): YamlScalar {
  return { kind: "scalar", value: "", style: "plain", at };
}
