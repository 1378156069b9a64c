import { err, ok, type Result } from "../../lib/result.ts";
import { SupplementalGroupsPolicy } from "../../model/generated/cri.ts";
import type { Pod } from "../../model/pod.ts";

/** How the groups of the image and those of the pod go together. */
export function supplementalGroupsPolicy(
  pod: Pod,
): Result<SupplementalGroupsPolicy | undefined, string> {
  const policy = pod.spec.securityContext?.supplementalGroupsPolicy;
  switch (policy) {
    case undefined:
      return ok(undefined);
    case "Merge":
      return ok(SupplementalGroupsPolicy.Merge);
    case "Strict":
      return ok(SupplementalGroupsPolicy.Strict);
    default:
      return err(`unsupported supplementalGroupsPolicy: ${policy}`);
  }
}
