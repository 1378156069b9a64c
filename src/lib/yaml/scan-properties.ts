// Anchors, tags and directives: what is said about a node or a document before it.
import { decodeUtf8 } from "../utf8.ts";
import { codesOf, isBlank, isBlankOrEnd, isBreakOrEnd, type YamlCursor } from "./yaml-cursor.ts";
import type { DirectiveToken, TagToken, YamlToken } from "./yaml-token.ts";

const exclamation = 0x21;
const lessThan = 0x3c;
const greaterThan = 0x3e;
const percent = 0x25;
const hash = 0x23;
const dot = 0x2e;

const wordCodes = codesOf("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-");
const uriCodes = new Set([...wordCodes, ...codesOf(";/?:@&=+$,.!~*'()[]%")]);
const afterAnchor = codesOf("?:,]}%@`");

const isWord = (code: number): boolean => wordCodes.has(code);

export function scanAnchor(cursor: YamlCursor, kind: "anchor" | "alias"): YamlToken {
  const { at } = cursor;
  cursor.skip();
  const name = cursor.readWhile(isWord);
  const next = cursor.peek();
  if (name === "" || (!isBlankOrEnd(next) && !afterAnchor.has(next))) {
    throw cursor.problem("did not find expected alphabetic or numeric character");
  }
  return { kind, name, at };
}

export function scanTag(cursor: YamlCursor): TagToken {
  const { at } = cursor;
  const { handle, suffix } =
    cursor.peek(1) === lessThan ? readVerbatimTag(cursor) : readTagParts(cursor);
  if (!isBlankOrEnd(cursor.peek())) {
    throw cursor.problem("did not find expected whitespace or line break");
  }
  return { kind: "tag", handle, suffix, at };
}

interface TagParts {
  readonly handle: string;
  readonly suffix: string;
}

/** `!<tag:example.com,2002:name>` */
function readVerbatimTag(cursor: YamlCursor): TagParts {
  cursor.skipMany(2);
  const suffix = readTagUri(cursor, "");
  if (cursor.peek() !== greaterThan) throw cursor.problem("did not find the expected '>'");
  cursor.skip();
  return { handle: "", suffix };
}

/** `!!name`, `!handle!name`, `!name` or `!` alone. */
function readTagParts(cursor: YamlCursor): TagParts {
  const handle = readTagHandle(cursor);
  if (handle.length > 1 && handle.endsWith("!")) return { handle, suffix: readTagUri(cursor, "") };
  const suffix = readTagUri(cursor, handle);
  return suffix === "" ? { handle: "", suffix: "!" } : { handle: "!", suffix };
}

function readTagHandle(cursor: YamlCursor): string {
  if (cursor.peek() !== exclamation) throw cursor.problem("did not find expected '!'");
  cursor.skip();
  const name = cursor.readWhile(isWord);
  if (cursor.peek() !== exclamation) return `!${name}`;
  cursor.skip();
  return `!${name}!`;
}

/** `head` is a handle that turned out to be the beginning of the name. */
function readTagUri(cursor: YamlCursor, head: string): string {
  const parts = [head.slice(1)];
  let isThere = head !== "";
  while (uriCodes.has(cursor.peek())) {
    isThere = true;
    parts.push(
      cursor.peek() === percent
        ? readUriEscapes(cursor)
        : cursor.readWhile((code) => code !== percent && uriCodes.has(code)),
    );
  }
  if (!isThere) throw cursor.problem("did not find expected tag URI");
  return parts.join("");
}

/** One character as the octets of its UTF-8, each `%` and two digits. */
function readUriEscapes(cursor: YamlCursor): string {
  const octets: number[] = [];
  let length = 1;
  while (octets.length < length) {
    const digits = /^%([0-9a-fA-F]{2})/.exec(cursor.text.slice(cursor.offset, cursor.offset + 3));
    if (digits === null) throw cursor.problem("did not find URI escaped octet");
    const octet = Number.parseInt(digits[1] ?? "", 16);
    if (octets.length === 0) {
      length = utf8Length(octet);
      if (length === 0) throw cursor.problem("found an incorrect leading UTF-8 octet");
    } else if (octet >> 6 !== 0b10) {
      throw cursor.problem("found an incorrect trailing UTF-8 octet");
    }
    octets.push(octet);
    cursor.skipMany(3);
  }
  return decodeUtf8(Uint8Array.from(octets));
}

function utf8Length(leading: number): number {
  if (leading < 0x80) return 1;
  if (leading >> 5 === 0b110) return 2;
  if (leading >> 4 === 0b1110) return 3;
  return leading >> 3 === 0b11110 ? 4 : 0;
}

export function scanDirective(cursor: YamlCursor): DirectiveToken {
  const { at } = cursor;
  cursor.skip();
  const name = cursor.readWhile(isWord);
  if (name === "") throw cursor.problem("could not find expected directive name");
  if (!isBlankOrEnd(cursor.peek())) {
    throw cursor.problem("found unexpected non-alphabetical character");
  }
  const directive = readDirectiveValue(cursor, name, at);
  cursor.skipWhile(isBlank);
  if (cursor.peek() === hash) cursor.skipWhile((code) => !isBreakOrEnd(code));
  if (!isBreakOrEnd(cursor.peek())) {
    throw cursor.problem("did not find expected comment or line break");
  }
  cursor.readBreak();
  return directive;
}

function readDirectiveValue(
  cursor: YamlCursor,
  name: string,
  at: DirectiveToken["at"],
): DirectiveToken {
  switch (name) {
    case "YAML":
      return { kind: "version", version: readVersion(cursor), at };
    case "TAG":
      return { kind: "tagDirective", ...readTagDirective(cursor), at };
    default:
      throw cursor.problem("found unknown directive name");
  }
}

function readVersion(cursor: YamlCursor): string {
  cursor.skipWhile(isBlank);
  const major = readVersionNumber(cursor);
  if (cursor.peek() !== dot) throw cursor.problem("did not find expected digit or '.' character");
  cursor.skip();
  return `${major}.${readVersionNumber(cursor)}`;
}

function readVersionNumber(cursor: YamlCursor): number {
  const digits = cursor.readWhile((code) => code >= 0x30 && code <= 0x39);
  if (digits === "") throw cursor.problem("did not find expected version number");
  if (digits.length > 2) throw cursor.problem("found extremely long version number");
  return Number(digits);
}

function readTagDirective(cursor: YamlCursor): { handle: string; prefix: string } {
  cursor.skipWhile(isBlank);
  const handle = readTagHandle(cursor);
  if (handle !== "!" && !(handle.length > 1 && handle.endsWith("!"))) {
    throw cursor.problem("did not find expected '!'");
  }
  if (!isBlank(cursor.peek())) throw cursor.problem("did not find expected whitespace");
  cursor.skipWhile(isBlank);
  const prefix = readTagUri(cursor, "");
  if (!isBlankOrEnd(cursor.peek())) {
    throw cursor.problem("did not find expected whitespace or line break");
  }
  return { handle, prefix };
}
