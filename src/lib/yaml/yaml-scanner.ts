import type { Position } from "../json-node.ts";
import { scanAnchor, scanDirective, scanTag } from "./scan-properties.ts";
import { scanBlockScalar, scanPlainScalar, scanQuotedScalar } from "./scan-scalar.ts";
import { endOfText, isBlank, isBlankOrEnd, isBreakOrEnd, YamlCursor } from "./yaml-cursor.ts";
import type { IndicatorKind, YamlToken } from "./yaml-token.ts";

/** A token that may turn out to be a key, when a colon follows on its line. */
interface PossibleKey {
  readonly tokenNumber: number;
  /** The line has nothing that it could be but a key. */
  readonly isRequired: boolean;
  readonly line: number;
  readonly column: number;
  readonly index: number;
  readonly at: Position;
}

const maxKeyLength = 1024;

const isSpace = (code: number): boolean => code === 0x20;

/** What no plain scalar begins with. */
const indicators: ReadonlySet<string> = new Set("-?:,[]{}#&*!|>'\"%@`");

/**
 * Cuts a text into tokens as go-yaml v2 does, with which Kubernetes reads YAML: which texts are refused, and where a scalar
 * ends, depends on how keys are found. A key without `?` is known by the colon after it, so its token waits in a queue.
 */
export class YamlScanner {
  readonly #cursor: YamlCursor;
  readonly #maxDepth: number;
  #queue: YamlToken[] = [];
  #head = 0;
  /** Tokens that were taken from the queue before its head. */
  #taken = 0;
  #indent = -1;
  readonly #outerIndents: number[] = [];
  #isKeyAllowed = true;
  /** One for the block, and one for each flow collection that is open. */
  readonly #possibleKeys: (PossibleKey | undefined)[] = [undefined];
  /** By the number of a token, the level of the possible key that begins with it. */
  readonly #keysByToken = new Map<number, number>();
  /** Of each flow collection that is open, the last token that could be a key in it; its bracket before there is one. */
  readonly #lastKeyTokens: number[] = [];
  #isAtEnd = false;

  constructor(text: string, maxDepth: number) {
    this.#cursor = new YamlCursor(text);
    this.#maxDepth = maxDepth;
  }

  get offset(): number {
    return this.#cursor.offset;
  }

  get at(): Position {
    return this.#cursor.at;
  }

  /** How many tokens were made. */
  get count(): number {
    return this.#taken + this.#queue.length - this.#head;
  }

  peek(): YamlToken {
    while (this.#needsMore()) this.#scan();
    const token = this.#queue[this.#head];
    if (token === undefined) throw this.#cursor.problem("attempted to go past the end of stream");
    return token;
  }

  next(): YamlToken {
    const token = this.peek();
    this.#head++;
    this.#taken++;
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    }
    return token;
  }

  /** The first token in the queue cannot be handed out while a key may have to be put before it. */
  #needsMore(): boolean {
    if (this.#head === this.#queue.length) return !this.#isAtEnd;
    const level = this.#keysByToken.get(this.#taken);
    return level !== undefined && this.#stillPossible(level) !== undefined;
  }

  #scan(): void {
    this.#skipToToken();
    this.#closeBlocks(this.#cursor.column);
    const cursor = this.#cursor;
    const code = cursor.peek();
    if (code === endOfText) this.#scanEnd();
    else if (cursor.column === 0 && code === 0x25) this.#scanDirective();
    else if (cursor.isDocumentMarker("---")) this.#scanDocumentMarker("documentStart");
    else if (cursor.isDocumentMarker("...")) this.#scanDocumentMarker("documentEnd");
    else this.#scanContent(String.fromCharCode(code));
  }

  #scanContent(character: string): void {
    const next = this.#cursor.peek(1);
    switch (character) {
      case "[":
        return this.#openFlow("flowSequenceStart");
      case "{":
        return this.#openFlow("flowMappingStart");
      case "]":
        return this.#closeFlow("flowSequenceEnd");
      case "}":
        return this.#closeFlow("flowMappingEnd");
      case ",":
        return this.#scanFlowEntry();
      case "-":
        if (isBlankOrEnd(next)) return this.#scanBlockEntry();
        break;
      case "?":
        if (this.#isInFlow || isBlankOrEnd(next)) return this.#scanKey();
        break;
      case ":":
        if (this.#isInFlow || isBlankOrEnd(next)) return this.#scanValue();
        break;
      case "|":
      case ">":
        if (!this.#isInFlow) return this.#scanBlock(character === "|" ? "literal" : "folded");
        break;
      default:
        return this.#scanNode(character);
    }
    this.#scanPlain(character);
  }

  #scanNode(character: string): void {
    switch (character) {
      case "*":
        return this.#addKeyStart(() => scanAnchor(this.#cursor, "alias"));
      case "&":
        return this.#addKeyStart(() => scanAnchor(this.#cursor, "anchor"));
      case "!":
        return this.#addKeyStart(() => scanTag(this.#cursor));
      case "'":
        return this.#addKeyStart(() => scanQuotedScalar(this.#cursor, "single"));
      case '"':
        return this.#addKeyStart(() => scanQuotedScalar(this.#cursor, "double"));
      default:
        return this.#scanPlain(character);
    }
  }

  get #isInFlow(): boolean {
    return this.#possibleKeys.length > 1;
  }

  #skipToToken(): void {
    const cursor = this.#cursor;
    for (;;) {
      // A tab does not indent.
      const isSkipped = this.#isInFlow || !this.#isKeyAllowed ? isBlank : isSpace;
      cursor.skipWhile(isSkipped);
      if (cursor.peek() === 0x23) cursor.skipWhile((code) => !isBreakOrEnd(code));
      if (cursor.readBreak() === "") return;
      if (!this.#isInFlow) this.#isKeyAllowed = true;
    }
  }

  #add(token: YamlToken): void {
    this.#queue.push(token);
  }

  #addIndicator(kind: IndicatorKind, length: number): void {
    this.#add({ kind, at: this.#cursor.at });
    this.#cursor.skipMany(length);
  }

  /** Adds the first token of what may be a key. */
  #addKeyStart(scan: () => YamlToken): void {
    this.#saveKey();
    this.#isKeyAllowed = false;
    this.#add(scan());
  }

  #scanEnd(): void {
    const cursor = this.#cursor;
    if (cursor.column !== 0) {
      cursor.column = 0;
      cursor.line++;
    }
    this.#closeBlocks(-1);
    this.#dropKey();
    this.#isKeyAllowed = false;
    this.#add({ kind: "end", at: cursor.at });
    this.#isAtEnd = true;
  }

  #scanDirective(): void {
    this.#closeBlocks(-1);
    this.#dropKey();
    this.#isKeyAllowed = false;
    this.#add(scanDirective(this.#cursor));
  }

  #scanDocumentMarker(kind: "documentStart" | "documentEnd"): void {
    this.#closeBlocks(-1);
    this.#dropKey();
    this.#isKeyAllowed = false;
    this.#addIndicator(kind, 3);
  }

  #openFlow(kind: "flowSequenceStart" | "flowMappingStart"): void {
    this.#saveKey();
    this.#possibleKeys.push(undefined);
    this.#lastKeyTokens.push(this.count);
    this.#checkDepth(this.#possibleKeys.length - 1);
    this.#isKeyAllowed = true;
    this.#addIndicator(kind, 1);
  }

  #closeFlow(kind: "flowSequenceEnd" | "flowMappingEnd"): void {
    this.#dropKey();
    if (this.#isInFlow) this.#possibleKeys.pop();
    // So a collection that had no key to wait for is not waited for as a key itself: `{}: x` is `{}`.
    this.#keysByToken.delete(this.#lastKeyTokens.pop() ?? -1);
    this.#isKeyAllowed = false;
    this.#addIndicator(kind, 1);
  }

  #scanFlowEntry(): void {
    this.#dropKey();
    this.#isKeyAllowed = true;
    this.#addIndicator("flowEntry", 1);
  }

  #scanBlockEntry(): void {
    if (!this.#isInFlow) {
      if (!this.#isKeyAllowed) {
        throw this.#cursor.problem("block sequence entries are not allowed in this context");
      }
      this.#openBlock("blockSequenceStart", this.#cursor);
    }
    this.#dropKey();
    this.#isKeyAllowed = true;
    this.#addIndicator("blockEntry", 1);
  }

  #scanKey(): void {
    if (!this.#isInFlow) {
      if (!this.#isKeyAllowed) {
        throw this.#cursor.problem("mapping keys are not allowed in this context");
      }
      this.#openBlock("blockMappingStart", this.#cursor);
    }
    this.#dropKey();
    this.#isKeyAllowed = !this.#isInFlow;
    this.#addIndicator("key", 1);
  }

  #scanValue(): void {
    const level = this.#possibleKeys.length - 1;
    const key = this.#stillPossible(level);
    if (key !== undefined) {
      this.#insert({ kind: "key", at: key.at }, key.tokenNumber);
      this.#openBlock("blockMappingStart", key, key.tokenNumber);
      this.#forgetKey(level);
      this.#isKeyAllowed = false;
    } else {
      if (!this.#isInFlow) {
        if (!this.#isKeyAllowed) {
          throw this.#cursor.problem("mapping values are not allowed in this context");
        }
        this.#openBlock("blockMappingStart", this.#cursor);
      }
      this.#isKeyAllowed = !this.#isInFlow;
    }
    this.#addIndicator("value", 1);
  }

  #scanBlock(style: "literal" | "folded"): void {
    this.#dropKey();
    this.#isKeyAllowed = true;
    this.#add(scanBlockScalar(this.#cursor, { style, parentIndent: this.#indent }));
  }

  #scanPlain(character: string): void {
    const next = this.#cursor.peek(1);
    const mayBegin =
      (!isBlank(character.charCodeAt(0)) && !indicators.has(character)) ||
      (character === "-" && !isBlank(next)) ||
      (!this.#isInFlow && (character === "?" || character === ":") && !isBlankOrEnd(next));
    if (!mayBegin) throw this.#cursor.problem("found character that cannot start any token");
    this.#saveKey();
    const { token, endsOnNewLine } = scanPlainScalar(this.#cursor, {
      indent: this.#indent + 1,
      isInFlow: this.#isInFlow,
    });
    this.#isKeyAllowed = endsOnNewLine;
    this.#add(token);
  }

  /** Begins a block collection where its first entry stands deeper than the one around it. */
  #openBlock(
    kind: "blockSequenceStart" | "blockMappingStart",
    { column, at }: Pick<YamlCursor, "column" | "at">,
    beforeToken?: number,
  ): void {
    if (this.#isInFlow || this.#indent >= column) return;
    this.#outerIndents.push(this.#indent);
    this.#indent = column;
    this.#checkDepth(this.#outerIndents.length);
    this.#insert({ kind, at }, beforeToken ?? this.count);
  }

  #insert(token: YamlToken, beforeToken: number): void {
    if (beforeToken < this.#taken) this.#add(token);
    else this.#queue.splice(this.#head + beforeToken - this.#taken, 0, token);
  }

  #closeBlocks(column: number): void {
    if (this.#isInFlow) return;
    while (this.#indent > column) {
      this.#add({ kind: "blockEnd", at: this.#cursor.at });
      this.#indent = this.#outerIndents.pop() ?? -1;
    }
  }

  #checkDepth(depth: number): void {
    if (depth > this.#maxDepth) {
      throw this.#cursor.problem(`exceeded max depth of ${this.#maxDepth}`);
    }
  }

  #saveKey(): void {
    if (!this.#isKeyAllowed) return;
    this.#dropKey();
    const { line, column, index, at } = this.#cursor;
    const tokenNumber = this.count;
    const isRequired = !this.#isInFlow && this.#indent === column;
    const level = this.#possibleKeys.length - 1;
    this.#possibleKeys[level] = { tokenNumber, isRequired, line, column, index, at };
    this.#keysByToken.set(tokenNumber, level);
    if (level > 0) this.#lastKeyTokens[level - 1] = tokenNumber;
  }

  #dropKey(): void {
    const level = this.#possibleKeys.length - 1;
    if (this.#possibleKeys[level]?.isRequired === true) throw this.#missingColon();
    this.#forgetKey(level);
  }

  #forgetKey(level: number): void {
    const key = this.#possibleKeys[level];
    if (key === undefined) return;
    this.#possibleKeys[level] = undefined;
    this.#keysByToken.delete(key.tokenNumber);
  }

  /** A key and its colon stand on one line, not further apart than keys are long. */
  #stillPossible(level: number): PossibleKey | undefined {
    const key = this.#possibleKeys[level];
    if (key === undefined) return undefined;
    const { line, index } = this.#cursor;
    if (key.line === line && key.index + maxKeyLength >= index) return key;
    if (key.isRequired) throw this.#missingColon();
    this.#forgetKey(level);
    return undefined;
  }

  #missingColon(): Error {
    return this.#cursor.problem("could not find expected ':'");
  }
}
