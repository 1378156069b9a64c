import { err, ok, type Result } from "../../lib/result.ts";

/** Longer lines than this are not read. */
const maxLineLength = 64 * 1024;

/** What an environment file sets, up to the line that cannot be read. */
export interface EnvFileContent {
  readonly values: ReadonlyMap<string, string>;
  readonly problem: string | undefined;
}

/**
 * Reads an environment file: lines of KEY='value', where a value may span lines and has no escapes. Of a key that is
 * there twice the first counts.
 */
export function parseEnvFile(text: string): EnvFileContent {
  const lines = fileLines(text);
  const values = new Map<string, string>();
  let at = 0;
  while (at < lines.length) {
    const entry = readEntry(lines, at);
    if (!entry.ok) return { values, problem: entry.error };
    const { key, value, next } = entry.value;
    if (key !== undefined && !values.has(key)) values.set(key, value);
    at = next;
  }
  return { values, problem: undefined };
}

interface Entry {
  /** Undefined on a line that sets nothing. */
  readonly key?: string;
  readonly value: string;
  readonly next: number;
}

function readEntry(lines: readonly string[], at: number): Result<Entry, string> {
  const problem = (detail: string) =>
    err(`invalid environment variable format at line ${at + 1}: ${detail}`);
  const raw = lines[at] ?? "";
  if (raw.length >= maxLineLength) return problem("line is too long");
  const line = raw.replace(/^[ \t]+/, "");
  if (line === "" || line.startsWith("#")) return ok({ value: "", next: at + 1 });
  const equals = line.indexOf("=");
  if (equals === -1) return problem("missing '='");
  const key = line.slice(0, equals);
  if (/^[ \t]*$/.test(key)) return problem("empty variable name");
  if (/[ \t]$/.test(key)) return problem("whitespace before '=' is not allowed");
  const rest = line.slice(equals + 1);
  // As in a shell, what follows the blank is not part of the assignment.
  if (/^[ \t]/.test(rest)) return ok({ key, value: "", next: at + 1 });
  if (!rest.startsWith("'")) return problem("value must be enclosed in single quotes");
  return readQuoted(lines, at, { key, first: rest.slice(1) });
}

function readQuoted(
  lines: readonly string[],
  at: number,
  { key, first }: { readonly key: string; readonly first: string },
): Result<Entry, string> {
  const parts: string[] = [];
  let line: string | undefined = first;
  for (let index = at; line !== undefined; line = lines[index]) {
    index++;
    const quote = line.indexOf("'");
    if (quote === -1) {
      parts.push(line);
      continue;
    }
    parts.push(line.slice(0, quote));
    if (!/^[ \t]*(#|$)/.test(line.slice(quote + 1))) {
      return err(
        `invalid environment variable format at line ${index}: unexpected content after closing quote`,
      );
    }
    return ok({ key, value: parts.join("\n"), next: index });
  }
  return err(
    `invalid environment variable format starting at line ${at + 1}: unclosed single quote`,
  );
}

function fileLines(text: string): string[] {
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
