import { quoteText } from "../../lib/go-text.ts";
import { utf8Length } from "../../lib/utf8.ts";

/**
 * What the environment, command and arguments of a container may come to, and what Linux lets a process start with: a quarter of
 * an 8 MiB stack. References multiply, so without a limit a few hundred bytes expand to more than any memory holds.
 */
export const maxExpandedBytes: number = 2 * 1024 * 1024;

const maxNameLength = 80;

/**
 * Replaces $(NAME) by what `lookUp` finds; what it does not find stays, and $$ becomes one $. Undefined as soon as the text
 * takes more than `maxBytes`.
 */
export function expand(
  template: string,
  lookUp: (name: string) => string | undefined,
  maxBytes: number,
): string | undefined {
  const parts: string[] = [];
  let bytes = 0;
  let copied = 0;
  // Looked for once: every "$(" after it would search to the end of the text in vain.
  const lastEnd = template.lastIndexOf(")");
  let at = template.indexOf("$");
  while (at >= 0) {
    const found = reference(template, at, lastEnd);
    if (found !== undefined) {
      const value = found.name === undefined ? "$" : lookUp(found.name);
      const replacement = value ?? template.slice(at, found.end);
      bytes += utf8Length(template, copied, at) + utf8Length(replacement);
      if (bytes > maxBytes) return undefined;
      parts.push(template.slice(copied, at), replacement);
      copied = found.end;
    }
    at = template.indexOf("$", found?.end ?? at + 1);
  }
  if (bytes + utf8Length(template, copied) > maxBytes) return undefined;
  return copied === 0 ? template : parts.join("") + template.slice(copied);
}

/** Why something cannot be expanded: `subject` is what goes over the limit. */
export function expansionProblem(subject: string): string {
  return `the environment, command and arguments take more than ${maxExpandedBytes} bytes with ${subject}: shorten it or what it refers to`;
}

/** A name for a message: names of variables have no limit of their own. */
export function shortName(name: string): string {
  return quoteText(name.length > maxNameLength ? `${name.slice(0, maxNameLength)}...` : name);
}

interface Reference {
  /** Undefined for $$. */
  readonly name?: string;
  readonly end: number;
}

function reference(template: string, at: number, lastEnd: number): Reference | undefined {
  const next = template[at + 1];
  if (next === "$") return { end: at + 2 };
  if (next !== "(" || lastEnd < at) return undefined;
  const end = template.indexOf(")", at);
  return { name: template.slice(at + 2, end), end: end + 1 };
}
