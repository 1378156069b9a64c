import {
  codesOf,
  endOfText,
  isBlank,
  isBlankOrEnd,
  isBreak,
  isBreakOrEnd,
  type YamlCursor,
} from "./yaml-cursor.ts";
import type { ScalarToken } from "./yaml-token.ts";

const quoteCodes = { single: 0x27, double: 0x22 } as const;
const backslash = 0x5c;
const colon = 0x3a;
const hash = 0x23;
const tab = 0x09;
const space = 0x20;
const zero = 0x30;
const plus = 0x2b;
const minus = 0x2d;

/** The blanks and line breaks between two parts of a scalar, and what is left of them in its value. */
class Gap {
  #blanks = "";
  #firstBreak = "";
  #moreBreaks = "";
  hasBreak = false;

  get isEmpty(): boolean {
    return !this.hasBreak && this.#blanks === "";
  }

  addBlank(blank: string): void {
    if (!this.hasBreak) this.#blanks += blank;
  }

  addBreak(text: string): void {
    if (this.hasBreak) this.#moreBreaks += text;
    else this.#firstBreak = text;
    this.hasBreak = true;
  }

  /** One line break is a space; of several the first is dropped, unless it separates lines by its own character. */
  folded(): string {
    if (!this.hasBreak) return this.#blanks;
    if (this.#firstBreak !== "" && this.#firstBreak !== "\n") {
      return this.#firstBreak + this.#moreBreaks;
    }
    if (this.#firstBreak === "") return this.#moreBreaks;
    return this.#moreBreaks === "" ? " " : this.#moreBreaks;
  }
}

function readGap(cursor: YamlCursor, gap: Gap): void {
  for (let code = cursor.peek(); isBlank(code) || isBreak(code); code = cursor.peek()) {
    if (isBreak(code)) gap.addBreak(cursor.readBreak());
    else {
      gap.addBlank(String.fromCharCode(code));
      cursor.skip();
    }
  }
}

/** In a flow collection these end a plain scalar wherever they stand. */
const flowIndicators = codesOf(",?[]{}");

export interface PlainScalar {
  readonly token: ScalarToken;
  /** A key may follow on the new line where the scalar ended. */
  readonly endsOnNewLine: boolean;
}

export function scanPlainScalar(
  cursor: YamlCursor,
  { indent, isInFlow }: { readonly indent: number; readonly isInFlow: boolean },
): PlainScalar {
  const { at } = cursor;
  const endsHere = (code: number) =>
    isBlankOrEnd(code) ||
    (code === colon && isBlankOrEnd(cursor.peek(1))) ||
    (isInFlow && flowIndicators.has(code));
  const parts: string[] = [];
  let gap = new Gap();
  for (;;) {
    if (cursor.isDocumentMarker("---") || cursor.isDocumentMarker("...")) break;
    if (cursor.peek() === hash) break;
    const start = cursor.offset;
    while (!endsHere(cursor.peek())) cursor.skip();
    if (cursor.offset > start) {
      parts.push(gap.folded(), cursor.text.slice(start, cursor.offset));
      gap = new Gap();
    }
    const code = cursor.peek();
    if (!isBlank(code) && !isBreak(code)) break;
    readPlainGap(cursor, gap, indent);
    if (!isInFlow && cursor.column < indent) break;
  }
  const token: ScalarToken = { kind: "scalar", value: parts.join(""), style: "plain", at };
  return { token, endsOnNewLine: gap.hasBreak };
}

function readPlainGap(cursor: YamlCursor, gap: Gap, indent: number): void {
  for (let code = cursor.peek(); isBlank(code) || isBreak(code); code = cursor.peek()) {
    if (isBreak(code)) {
      gap.addBreak(cursor.readBreak());
      continue;
    }
    if (gap.hasBreak && cursor.column < indent && code === tab) {
      throw cursor.problem("found a tab character that violates indentation");
    }
    gap.addBlank(String.fromCharCode(code));
    cursor.skip();
  }
}

export function scanQuotedScalar(cursor: YamlCursor, quote: "single" | "double"): ScalarToken {
  const { at } = cursor;
  const quoteCode = quoteCodes[quote];
  cursor.skip();
  const parts: string[] = [];
  for (;;) {
    if (cursor.isDocumentMarker("---") || cursor.isDocumentMarker("...")) {
      throw cursor.problem("found unexpected document indicator");
    }
    if (cursor.peek() === endOfText) throw cursor.problem("found unexpected end of stream");
    const gap = new Gap();
    readQuotedText(cursor, quote, parts, gap);
    if (cursor.peek() === quoteCode) break;
    readGap(cursor, gap);
    parts.push(gap.folded());
  }
  cursor.skip();
  return { kind: "scalar", value: parts.join(""), style: "quoted", at };
}

/** Up to a blank, a line break or the closing quote; an escaped line break begins the gap after it. */
function readQuotedText(
  cursor: YamlCursor,
  quote: "single" | "double",
  parts: string[],
  gap: Gap,
): void {
  const quoteCode = quoteCodes[quote];
  for (;;) {
    const start = cursor.offset;
    while (isPlainInQuotes(cursor.peek(), quoteCode)) cursor.skip();
    parts.push(cursor.text.slice(start, cursor.offset));
    const code = cursor.peek();
    if (isBlankOrEnd(code)) return;
    if (code === backslash && quote === "double") {
      if (isBreak(cursor.peek(1))) {
        cursor.skip();
        cursor.readBreak();
        gap.addBreak("");
        return;
      }
      parts.push(readEscape(cursor));
    } else if (code === backslash) {
      parts.push("\\");
      cursor.skip();
    } else if (quote === "single" && cursor.peek(1) === quoteCode) {
      parts.push("'");
      cursor.skipMany(2);
    } else return;
  }
}

function isPlainInQuotes(code: number, quoteCode: number): boolean {
  return code !== quoteCode && code !== backslash && !isBlankOrEnd(code);
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["0", "\0"],
  ["a", "\u0007"],
  ["b", "\b"],
  ["t", "\t"],
  ["\t", "\t"],
  ["n", "\n"],
  ["v", "\v"],
  ["f", "\f"],
  ["r", "\r"],
  ["e", "\u001b"],
  [" ", " "],
  ['"', '"'],
  ["'", "'"],
  ["\\", "\\"],
  ["N", "\u0085"],
  ["_", "\u00a0"],
  ["L", "\u2028"],
  ["P", "\u2029"],
]);

const codeLengths: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8],
]);

function readEscape(cursor: YamlCursor): string {
  const name = String.fromCharCode(cursor.peek(1));
  const escaped = escapes.get(name);
  if (escaped !== undefined) {
    cursor.skipMany(2);
    return escaped;
  }
  const length = codeLengths.get(name);
  if (length === undefined) throw cursor.problem("found unknown escape character");
  cursor.skipMany(2);
  const digits = cursor.text.slice(cursor.offset, cursor.offset + length);
  if (!/^[0-9a-fA-F]*$/.test(digits) || digits.length < length) {
    throw cursor.problem("did not find expected hexdecimal number");
  }
  const code = Number.parseInt(digits, 16);
  if ((code >= 0xd8_00 && code <= 0xdf_ff) || code > 0x10_ff_ff) {
    throw cursor.problem("found invalid Unicode character escape code");
  }
  cursor.skipMany(length);
  return String.fromCodePoint(code);
}

interface BlockHeader {
  readonly chomping: "strip" | "clip" | "keep";
  /** Columns beyond the parent's; 0 where the first line decides. */
  readonly increment: number;
}

export function scanBlockScalar(
  cursor: YamlCursor,
  { style, parentIndent }: { readonly style: "literal" | "folded"; readonly parentIndent: number },
): ScalarToken {
  const { at } = cursor;
  cursor.skip();
  const { chomping, increment } = readBlockHeader(cursor);
  const given = increment === 0 ? undefined : Math.max(parentIndent, 0) + increment;
  const first = readBlockBreaks(cursor, given, parentIndent);
  const { indent } = first;
  let breaks = first.breaks;
  const parts: string[] = [];
  let lineBreak = "";
  let beganWithBlank = false;
  while (cursor.column === indent && cursor.peek() !== endOfText) {
    const beginsWithBlank = isBlank(cursor.peek());
    const isFolded =
      style === "folded" && lineBreak === "\n" && !beganWithBlank && !beginsWithBlank;
    if (!isFolded) parts.push(lineBreak);
    else if (breaks === "") parts.push(" ");
    parts.push(
      breaks,
      cursor.readWhile((code) => !isBreakOrEnd(code)),
    );
    beganWithBlank = beginsWithBlank;
    lineBreak = cursor.readBreak();
    breaks = readBlockBreaks(cursor, indent, parentIndent).breaks;
  }
  if (chomping !== "strip") parts.push(lineBreak);
  if (chomping === "keep") parts.push(breaks);
  return { kind: "scalar", value: parts.join(""), style: "block", at };
}

function readBlockHeader(cursor: YamlCursor): BlockHeader {
  const before = readChomping(cursor);
  const increment = readIncrement(cursor);
  const chomping = before ?? (increment > 0 ? readChomping(cursor) : undefined) ?? "clip";
  cursor.skipWhile(isBlank);
  if (cursor.peek() === hash) cursor.skipWhile((code) => !isBreakOrEnd(code));
  if (!isBreakOrEnd(cursor.peek())) {
    throw cursor.problem("did not find expected comment or line break");
  }
  cursor.readBreak();
  return { chomping, increment };
}

function readChomping(cursor: YamlCursor): "keep" | "strip" | undefined {
  const code = cursor.peek();
  if (code !== plus && code !== minus) return undefined;
  cursor.skip();
  return code === plus ? "keep" : "strip";
}

function readIncrement(cursor: YamlCursor): number {
  const digit = cursor.peek() - zero;
  if (digit < 0 || digit > 9) return 0;
  if (digit === 0) throw cursor.problem("found an indentation indicator equal to 0");
  cursor.skip();
  return digit;
}

/** Empty lines and the indentation of the next one with text; without `given` the deepest of them is the indentation. */
function readBlockBreaks(
  cursor: YamlCursor,
  given: number | undefined,
  parentIndent: number,
): { readonly breaks: string; readonly indent: number } {
  const isIndentation = () => given === undefined || cursor.column < given;
  const breaks: string[] = [];
  let deepest = 0;
  for (;;) {
    while (isIndentation() && cursor.peek() === space) cursor.skip();
    deepest = Math.max(deepest, cursor.column);
    if (isIndentation() && cursor.peek() === tab) {
      throw cursor.problem("found a tab character where an indentation space is expected");
    }
    if (!isBreak(cursor.peek())) break;
    breaks.push(cursor.readBreak());
  }
  return { breaks: breaks.join(""), indent: given ?? Math.max(deepest, parentIndent + 1, 1) };
}
