import type { SourceProblem } from "../../ports/pod-source.ts";
import { printable } from "./colour.ts";

/** What is wrong in a manifest, and where in it. */
export function problemText({ line, column, field, message }: SourceProblem): string {
  const where =
    line === undefined ? "" : `line ${line}${column === undefined ? "" : `, column ${column}`}: `;
  const named = field === undefined || message.includes(field) ? "" : `${field}: `;
  return `${where}${named}${printable(message)}`;
}

/** The same with the manifest's path. */
export function placedProblemText(problem: SourceProblem): string {
  return `${printable(problem.origin)}: ${problemText(problem)}`;
}
