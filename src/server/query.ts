// Query parameters as the Kubernetes API writes them.
import { HttpError } from "./http-error.ts";

export function readFlag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  if (value === null || value === "false" || value === "0") return false;
  if (value === "" || value === "true" || value === "1") return true;
  throw new HttpError("BadRequest", `${name}: "${value}" is neither true nor false`);
}

export function readCount(query: URLSearchParams, name: string, least = 0): number | undefined {
  const value = query.get(name);
  if (value === null || value === "") return undefined;
  const count = Number(value);
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(count) || count < least) {
    throw new HttpError(
      "BadRequest",
      `${name}: "${value}" must be a whole number from ${least} on`,
    );
  }
  return count;
}
