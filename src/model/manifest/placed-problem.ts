import type { Position } from "../../lib/json-node.ts";
import { nearestName } from "../../lib/nearest-name.ts";
import type { UnknownField } from "./decode-object.ts";
import { wireFields } from "./wire-type.ts";

/** One thing that is wrong in a file, placed in it. */
export interface PlacedProblem {
  readonly message: string;
  readonly field?: string | undefined;
  readonly at?: Position | undefined;
}

/** The message for a field that does not exist: its name, and the one that was most likely meant. */
export function unknownFieldProblem({ struct, name, field, at }: UnknownField): PlacedProblem {
  const nearest = nearestName(name, wireFields(struct).keys());
  const hint = nearest === undefined ? "" : `: did you mean ${nearest}?`;
  return { message: `unknown field ${field}${hint}`, field, at };
}
