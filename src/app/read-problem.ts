import { errorText } from "../lib/error-text.ts";

/** Why a path of the user's cannot be read, for the user: the system's own words name its calls. */
export function readProblem(path: string, error: unknown): string {
  switch (error instanceof Error && "code" in error ? error.code : undefined) {
    case "ENOENT":
    case "ENOTDIR":
      return missingPath(path);
    case "EISDIR":
      return `${path}: it is a folder, not a file`;
    case "EACCES":
      return `${path}: no permission to read it`;
    default:
      return `cannot read ${path}: ${errorText(error)}`;
  }
}

export function missingPath(path: string): string {
  return `${path}: no such file or folder`;
}
