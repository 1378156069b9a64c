import type { PodSpec } from "../generated/kubernetes.ts";
import { refusedFields } from "./refused-fields.ts";
import { usedFields } from "./used-fields.ts";

/** A use of a field that this node cannot honour. */
export interface RefusedUse {
  readonly path: string;
  readonly reason: string;
}

/** Whose rules count: those of a kubelet, or the stricter ones of manifests that are run without a cluster. */
export type FieldRules = "kubelet" | "strict";

/**
 * Every use of such a field in a spec. In a kubelet's place none is refused: what a kubelet on Linux ignores is ignored there, what it
 * cannot mount is waited for, and what fails with it fails in the same way.
 */
export function refusedUses(spec: PodSpec, rules: FieldRules): readonly RefusedUse[] {
  if (rules === "kubelet") return [];
  return usedFields(spec).flatMap(({ name, path }) => {
    const reason = refusedFields.get(name);
    return reason === undefined ? [] : [{ path, reason }];
  });
}
