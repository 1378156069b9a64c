import { quoteText } from "./go-text.ts";
import type { JsonEntry, JsonNode, Position } from "./json-node.ts";
import { maxDocumentLength, maxDocumentValues, maxNestingDepth } from "./json-text.ts";
import { err, ok, type Result } from "./result.ts";

export interface SyntaxProblem {
  readonly message: string;
  readonly at: Position;
}

const endOfInput = "unexpected end of JSON input";
const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** Parses JSON text; its refusals are worded as the API machinery words them. */
export function parseJson(text: string): Result<JsonNode, SyntaxProblem> {
  const parser = new JsonParser(text);
  try {
    return ok(parser.parseDocument());
  } catch (error) {
    if (error instanceof JsonSyntaxError) return err({ message: error.message, at: error.at });
    throw error;
  }
}

class JsonSyntaxError extends Error {
  readonly at: Position;

  constructor(message: string, at: Position) {
    super(message);
    this.at = at;
  }
}

/** Owns the reading position in one text. */
class JsonParser {
  readonly #text: string;
  #offset = 0;
  #line = 1;
  #lineStart = 0;
  #count = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parseDocument(): JsonNode {
    if (this.#text.length > maxDocumentLength) {
      throw this.#error(`larger than ${maxDocumentLength} characters`);
    }
    const node = this.#parseValue(0);
    this.#skipSpace();
    if (this.#offset < this.#text.length) throw this.#unexpected("after top-level value");
    return node;
  }

  #parseValue(depth: number): JsonNode {
    if (depth > maxNestingDepth) {
      throw this.#error(`exceeded max depth of ${maxNestingDepth}`);
    }
    this.#skipSpace();
    const at = this.#position();
    this.#addValue();
    switch (this.#peek()) {
      case "{":
        return { kind: "object", entries: this.#parseEntries(depth), at };
      case "[":
        return { kind: "array", items: this.#parseItems(depth), at };
      case '"':
        return { kind: "string", value: this.#parseString(), at };
      case "t":
        return this.#parseWord("true", { kind: "bool", value: true, at });
      case "f":
        return this.#parseWord("false", { kind: "bool", value: false, at });
      case "n":
        return this.#parseWord("null", { kind: "null", at });
      default:
        return { kind: "number", text: this.#parseNumber(), at };
    }
  }

  #addValue(): void {
    this.#count++;
    if (this.#count > maxDocumentValues) {
      throw this.#error(`more than ${maxDocumentValues} keys and values: use more files`);
    }
  }

  #parseEntries(depth: number): JsonEntry[] {
    const entries: JsonEntry[] = [];
    this.#offset++;
    this.#skipSpace();
    if (this.#accept("}")) return entries;
    for (;;) {
      this.#skipSpace();
      const keyAt = this.#position();
      if (this.#peek() !== '"')
        throw this.#unexpected("looking for beginning of object key string");
      this.#addValue();
      const key = this.#parseString();
      this.#skipSpace();
      if (!this.#accept(":")) throw this.#unexpected("after object key");
      entries.push({ key, keyAt, value: this.#parseValue(depth + 1) });
      this.#skipSpace();
      if (this.#accept("}")) return entries;
      if (!this.#accept(",")) throw this.#unexpected("after object key:value pair");
    }
  }

  #parseItems(depth: number): JsonNode[] {
    const items: JsonNode[] = [];
    this.#offset++;
    this.#skipSpace();
    if (this.#accept("]")) return items;
    for (;;) {
      items.push(this.#parseValue(depth + 1));
      this.#skipSpace();
      if (this.#accept("]")) return items;
      if (!this.#accept(",")) throw this.#unexpected("after array element");
    }
  }

  #parseString(): string {
    const parts: string[] = [];
    this.#offset++;
    let start = this.#offset;
    for (;;) {
      const character = this.#peek();
      if (character === undefined) throw this.#error(endOfInput);
      if (character < " ") throw this.#unexpected("in string literal");
      this.#offset++;
      if (character !== '"' && character !== "\\") continue;
      parts.push(this.#text.slice(start, this.#offset - 1));
      if (character === '"') return parts.join("");
      parts.push(this.#parseEscape());
      start = this.#offset;
    }
  }

  #parseEscape(): string {
    const character = this.#peek();
    if (character === "u") {
      this.#offset++;
      const start = this.#offset;
      while (this.#offset < start + 4) {
        if (!/^[0-9a-fA-F]$/.test(this.#peek() ?? "")) {
          throw this.#unexpected("in \\u hexadecimal character escape");
        }
        this.#offset++;
      }
      return String.fromCharCode(Number.parseInt(this.#text.slice(start, this.#offset), 16));
    }
    const escape = character === undefined ? undefined : escapes[character];
    if (escape === undefined) throw this.#unexpected("in string escape code");
    this.#offset++;
    return escape;
  }

  #parseWord(word: string, node: JsonNode): JsonNode {
    for (const [index, expected] of Array.from(word).entries()) {
      if (this.#peek() !== expected) {
        throw this.#unexpected(
          index === 0
            ? "looking for beginning of value"
            : `in literal ${word} (expecting '${expected}')`,
        );
      }
      this.#offset++;
    }
    return node;
  }

  #parseNumber(): string {
    const start = this.#offset;
    const isNegative = this.#accept("-");
    if (!this.#accept("0") && !this.#acceptDigits()) {
      throw this.#unexpected(isNegative ? "in numeric literal" : "looking for beginning of value");
    }
    if (this.#accept(".") && !this.#acceptDigits()) {
      throw this.#unexpected("after decimal point in numeric literal");
    }
    if (this.#accept("e") || this.#accept("E")) {
      if (!this.#accept("+")) this.#accept("-");
      if (!this.#acceptDigits()) throw this.#unexpected("in exponent of numeric literal");
    }
    return this.#text.slice(start, this.#offset);
  }

  #acceptDigits(): boolean {
    const start = this.#offset;
    while (/^[0-9]$/.test(this.#peek() ?? "")) this.#offset++;
    return this.#offset > start;
  }

  #accept(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#offset++;
    return true;
  }

  #peek(): string | undefined {
    return this.#text[this.#offset];
  }

  #skipSpace(): void {
    for (;;) {
      const character = this.#peek();
      if (character === "\n") {
        this.#line++;
        this.#lineStart = this.#offset + 1;
      } else if (character !== " " && character !== "\t" && character !== "\r") {
        return;
      }
      this.#offset++;
    }
  }

  #position(): Position {
    return { line: this.#line, column: this.#offset - this.#lineStart + 1 };
  }

  #unexpected(where: string): JsonSyntaxError {
    const character = this.#peek();
    if (character === undefined) return this.#error(endOfInput);
    return this.#error(`invalid character ${quoteCharacter(character)} ${where}`);
  }

  #error(message: string): JsonSyntaxError {
    return new JsonSyntaxError(message, this.#position());
  }
}

function quoteCharacter(character: string): string {
  if (character === "'") return `'\\''`;
  if (character === '"') return `'"'`;
  return `'${quoteText(character).slice(1, -1)}'`;
}
