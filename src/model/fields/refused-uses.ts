import type { PodSpec } from "../generated/kubernetes.ts";
import { refusedAsKubelet, refusedFields } from "./refused-fields.ts";
import { usedFields } from "./used-fields.ts";

/** A use of a field that this node cannot honour. */
export interface RefusedUse {
  readonly path: string;
  readonly reason: string;
}

/** Whose rules count: those of a kubelet, or the stricter ones of manifests that are run without a cluster. */
export type FieldRules = "kubelet" | "strict";

/** Every use of such a field in a spec. */
export function refusedUses(spec: PodSpec, rules: FieldRules): readonly RefusedUse[] {
  return usedFields(spec).flatMap(({ name, path }) => {
    const reason = refusedFields.get(name);
    const isRefused = rules === "strict" || refusedAsKubelet.has(name);
    return reason === undefined || !isRefused ? [] : [{ path, reason }];
  });
}
