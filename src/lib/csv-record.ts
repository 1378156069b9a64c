// One record of comma-separated values, read and written as Go's encoding/csv does.
import { err, ok, type Result } from "./result.ts";

const encoder = new TextEncoder();
const bareQuote = 'bare " in non-quoted-field';
const lostQuote = 'extraneous or missing " in quoted-field';

/** The fields of the first record of a text. */
export function parseCsvRecord(text: string): Result<string[], string> {
  const first = /^(?:\r?\n)*/.exec(text)?.[0] ?? "";
  const reader = { rest: text.slice(first.length), read: first };
  const startLine = lineOf(reader.read);
  if (reader.rest === "") return err("EOF");
  const fields: string[] = [];
  for (;;) {
    const field = reader.rest.startsWith('"') ? quotedField(reader) : plainField(reader);
    if (!field.ok) return err(placed(field.error, reader.read, startLine));
    fields.push(field.value);
    if (!reader.rest.startsWith(",")) return ok(fields);
    advance(reader, 1);
  }
}

/** The fields as one line. */
export function formatCsvRecord(fields: readonly string[]): string {
  return fields
    .map((field) =>
      /^\\\.$|[",\r\n]|^\s/u.test(field) ? `"${field.replaceAll('"', '""')}"` : field,
    )
    .join(",");
}

/** A text with what of it was already read. */
interface Reader {
  rest: string;
  read: string;
}

function advance(reader: Reader, count: number): void {
  reader.read += reader.rest.slice(0, count);
  reader.rest = reader.rest.slice(count);
}

function plainField(reader: Reader): Result<string, string> {
  const field = /^[^,\n]*/.exec(reader.rest)?.[0] ?? "";
  const quote = field.indexOf('"');
  if (quote >= 0) {
    advance(reader, quote);
    return err(bareQuote);
  }
  advance(reader, field.length);
  return ok(field.replace(/\r$/, ""));
}

function quotedField(reader: Reader): Result<string, string> {
  advance(reader, 1);
  let field = "";
  for (;;) {
    const quote = reader.rest.indexOf('"');
    if (quote < 0) {
      advance(reader, reader.rest.length);
      return err(lostQuote);
    }
    field += reader.rest.slice(0, quote).replaceAll("\r\n", "\n");
    advance(reader, quote);
    if (reader.rest.startsWith('""')) {
      field += '"';
      advance(reader, 2);
    } else if (/^"(?:,|\r?\n|\r?$)/.test(reader.rest)) {
      advance(reader, 1);
      return ok(field);
    } else {
      return err(lostQuote);
    }
  }
}

function placed(message: string, read: string, startLine: number): string {
  const line = lineOf(read);
  const column = encoder.encode(read.slice(read.lastIndexOf("\n") + 1)).length + 1;
  const record = line === startLine ? "" : `record on line ${startLine}; `;
  return `${record}parse error on line ${line}, column ${column}: ${message}`;
}

function lineOf(read: string): number {
  return read.split("\n").length;
}
