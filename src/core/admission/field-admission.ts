import { type FieldRules, refusedUses } from "../../model/fields/refused-uses.ts";
import type { Pod } from "../../model/pod.ts";
import { type AdmissionResult, admitted, rejected } from "./admission.ts";

/** Whether the node can do all that a pod's fields ask for; every field that it cannot is named. */
export function admitFields({ spec }: Pod, rules: FieldRules): AdmissionResult {
  const refusals = refusedUses(spec, rules).map(({ path, reason }) => `${path}: ${reason}`);
  return refusals.length === 0 ? admitted : rejected("UnsupportedField", refusals.join(". "));
}
