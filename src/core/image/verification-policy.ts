import { imageWithoutTag } from "./pull-record.ts";

/** Which images that are on the machine a pod can use without showing that it could pull them. */
export interface VerificationPolicy {
  readonly name: VerificationPolicyName;
  /** Images without tag and digest, and prefixes that end with an asterisk. Only NeverVerifyAllowlistedImages has them. */
  readonly allowlist: readonly string[];
}

export type VerificationPolicyName =
  | "NeverVerify"
  | "NeverVerifyPreloadedImages"
  | "NeverVerifyAllowlistedImages"
  | "AlwaysVerify";

/** A kubelet's. */
export const defaultVerification: VerificationPolicy = {
  name: "NeverVerifyPreloadedImages",
  allowlist: [],
};

/** Whether the records of pulls decide who may use an image. `wasPulledHere`: a record or an intent says so. */
export function mustVerify(
  { name, allowlist }: VerificationPolicy,
  image: string,
  wasPulledHere: boolean,
): boolean {
  switch (name) {
    case "NeverVerify":
      return false;
    case "NeverVerifyPreloadedImages":
      return wasPulledHere;
    case "AlwaysVerify":
      return true;
    case "NeverVerifyAllowlistedImages": {
      const bare = imageWithoutTag(image);
      return !allowlist.some((allowed) =>
        allowed.endsWith("/*") ? bare.startsWith(allowed.slice(0, -1)) : bare === allowed,
      );
    }
    default:
      return name satisfies never;
  }
}
