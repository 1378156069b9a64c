import { err, ok, type Result } from "../../lib/result.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";

/** The object; an empty one in place of one that is not there and need not be. */
export function optionalObject<T extends object>(
  found: Result<T, LookUpFailure>,
  optional: boolean | undefined,
): Result<T | Record<string, never>, string> {
  if (found.ok) return found;
  return optional === true && found.error.code === "not-found" ? ok({}) : err(found.error.message);
}
