import type { CisResult } from "./cis-facts.ts";

/** A result without the name of its line. */
export type Verdict = Omit<CisResult, "id" | "title">;

export function notApplicable(found: string): Verdict {
  return { status: "not applicable", found };
}

/** Passes or fails by a condition; `fix` is what to do where it fails. */
export function judged(isMet: boolean, found: string, fix: string): Verdict {
  return isMet ? { status: "pass", found } : { status: "fail", found, fix };
}
