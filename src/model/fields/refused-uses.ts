import type { PodSpec } from "../generated/kubernetes.ts";
import { gatedFields, refusedFields } from "./refused-fields.ts";
import { usedFields } from "./used-fields.ts";

/** A use of a field that this node cannot honour. */
export interface RefusedUse {
  readonly path: string;
  readonly reason: string;
}

/** Every use of such a field in a spec, on a node with these feature gates on. */
export function refusedUses(
  spec: PodSpec,
  gates: ReadonlySet<string> = new Set(),
): readonly RefusedUse[] {
  return usedFields(spec).flatMap(({ name, path }) => {
    const reason = refusedFields.get(name);
    const isOn = gates.has(gatedFields.get(name) ?? "");
    return reason === undefined || isOn ? [] : [{ path, reason }];
  });
}
