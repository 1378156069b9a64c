import type { Pod } from "../../model/pod.ts";

/** The groups that volumes ask for and the pod does not have by itself; what is not a number is ignored. */
export function extraGroups(pod: Pod, groupIds: readonly string[]): readonly number[] {
  const own = pod.spec.securityContext?.supplementalGroups ?? [];
  const groups = groupIds.filter((id) => /^[+-]?\d{1,15}$/.test(id)).map(Number);
  return [...new Set(groups)].filter((group) => !own.includes(group)).toSorted((a, b) => a - b);
}
