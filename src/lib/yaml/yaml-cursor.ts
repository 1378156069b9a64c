import type { Position } from "../json-node.ts";
import { YamlProblem } from "./yaml-problem.ts";

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const nextLine = 0x85;
const lineSeparator = 0x20_28;
const paragraphSeparator = 0x20_29;

const space = 0x20;
const tab = 0x09;

/** What `peek` returns after the last character; the text itself has no such character. */
export const endOfText = 0;

export function codesOf(text: string): ReadonlySet<number> {
  return new Set(Array.from(text, (character) => character.charCodeAt(0)));
}

export function isBreak(code: number): boolean {
  return (
    code === lineFeed ||
    code === carriageReturn ||
    code === nextLine ||
    code === lineSeparator ||
    code === paragraphSeparator
  );
}

export function isBlank(code: number): boolean {
  return code === space || code === tab;
}

export function isBreakOrEnd(code: number): boolean {
  return code === endOfText || isBreak(code);
}

export function isBlankOrEnd(code: number): boolean {
  return isBlank(code) || isBreakOrEnd(code);
}

/** Reads a text character by character, and knows its line and column, both from zero. */
export class YamlCursor {
  readonly text: string;
  offset = 0;
  line = 0;
  column = 0;
  /** Characters before this one: a pair of surrogates is one. */
  index = 0;

  constructor(text: string) {
    this.text = text;
  }

  get at(): Position {
    return { line: this.line + 1, column: this.column + 1 };
  }

  /** The code of the UTF-16 unit that many units ahead. */
  peek(ahead = 0): number {
    const code = this.text.charCodeAt(this.offset + ahead);
    return Number.isNaN(code) ? endOfText : code;
  }

  /** Steps over one character that is not a line break. */
  skip(): void {
    const code = this.text.charCodeAt(this.offset);
    this.offset += code >= 0xd8_00 && code <= 0xdb_ff ? 2 : 1;
    this.column++;
    this.index++;
  }

  skipMany(count: number): void {
    for (let done = 0; done < count; done++) this.skip();
  }

  skipWhile(matches: (code: number) => boolean): void {
    while (matches(this.peek())) this.skip();
  }

  readWhile(matches: (code: number) => boolean): string {
    const start = this.offset;
    this.skipWhile(matches);
    return this.text.slice(start, this.offset);
  }

  /** Steps over one line break and returns what a scalar has of it; "" where there is none. */
  readBreak(): string {
    const code = this.peek();
    if (!isBreak(code)) return "";
    const units = code === carriageReturn && this.peek(1) === lineFeed ? 2 : 1;
    this.offset += units;
    this.index += units;
    this.line++;
    this.column = 0;
    return code === lineSeparator || code === paragraphSeparator ? String.fromCharCode(code) : "\n";
  }

  /** Whether a line begins here that is only `---` or `...`, or that and a blank. */
  isDocumentMarker(marker: "---" | "..."): boolean {
    return (
      this.column === 0 &&
      this.text.startsWith(marker, this.offset) &&
      isBlankOrEnd(this.peek(marker.length))
    );
  }

  problem(message: string): YamlProblem {
    return new YamlProblem(message, this.at);
  }
}
