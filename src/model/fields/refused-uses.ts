import type { PodSpec } from "../generated/kubernetes.ts";
import { refusedFields } from "./refused-fields.ts";
import { usedFields } from "./used-fields.ts";

/** A use of a field that this node cannot honour. */
export interface RefusedUse {
  readonly path: string;
  readonly reason: string;
}

/** Every use of such a field in a spec. */
export function refusedUses(spec: PodSpec): readonly RefusedUse[] {
  return usedFields(spec).flatMap(({ name, path }) => {
    const reason = refusedFields.get(name);
    return reason === undefined ? [] : [{ path, reason }];
  });
}
