import type { JSX } from "preact";
import type { Failure } from "../api/failure.ts";

/** Why something could not be read. That the agent does not answer is said once, above everything. */
export function ReadProblem({
  failure,
}: {
  readonly failure: Failure | undefined;
}): JSX.Element | null {
  if (failure?.kind !== "refused") return null;
  return (
    <p class="note bad" role="alert">
      {failure.message}
    </p>
  );
}
