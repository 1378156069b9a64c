import { expect, test } from "vitest";
import { mustVerify, type VerificationPolicyName } from "./verification-policy.ts";

const image = "registry.io/team/app:1";

test.each<[VerificationPolicyName, boolean, boolean]>([
  ["NeverVerify", true, false],
  ["NeverVerify", false, false],
  ["NeverVerifyPreloadedImages", true, true],
  ["NeverVerifyPreloadedImages", false, false],
  ["AlwaysVerify", true, true],
  ["AlwaysVerify", false, true],
  ["NeverVerifyAllowlistedImages", true, true],
  ["NeverVerifyAllowlistedImages", false, true],
])(
  "%s, where it is %s that the image was pulled here: verifies %s",
  (name, wasPulled, verifies) => {
    expect(mustVerify({ name, allowlist: [] }, image, wasPulled)).toBe(verifies);
  },
);

test.each([
  ["registry.io/team/app", image, false],
  ["registry.io/team/app", `registry.io/team/app@sha256:${"a".repeat(64)}`, false],
  ["registry.io/team/app", `registry.io/team/app:1@sha256:${"a".repeat(64)}`, false],
  ["registry.io/team/app", "registry.io/team/app2", true],
  ["registry.io/team/*", image, false],
  ["registry.io/team/*", "registry.io/team/sub/app", false],
  ["registry.io/team/*", "registry.io/teams/app", true],
  ["registry.io/team", image, true],
  ["registry.io:5000/*", "registry.io:5000/app", false],
])("with %s in the list, %s is verified: %s", (allowed, name, verifies) => {
  const policy = {
    name: "NeverVerifyAllowlistedImages",
    allowlist: ["other.io/x", allowed],
  } as const;
  expect(mustVerify(policy, name, true)).toBe(verifies);
});
