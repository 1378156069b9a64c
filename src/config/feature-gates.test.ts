import { expect, test } from "vitest";
import { defaultFeatureGates, isFeatureEnabled, setFeatureGates } from "./feature-gates.ts";

test("a gate that was set explicitly does not follow its stage", () => {
  const alpha = setFeatureGates(defaultFeatureGates, { NodeLogQuery: true, AllAlpha: false });
  expect(alpha.ok && isFeatureEnabled(alpha.value, "NodeLogQuery")).toBe(true);
});

test("names of object members are not gates", () => {
  expect(setFeatureGates(defaultFeatureGates, { constructor: true })).toEqual({
    ok: false,
    error: ["unrecognized feature gate: constructor"],
  });
});

test("a group of gates leaves those alone that an earlier one has set", () => {
  const first = setFeatureGates(defaultFeatureGates, { AllAlpha: false });
  expect(first.ok).toBe(true);
  if (!first.ok) return;
  const second = setFeatureGates(first.value, { AllAlpha: true });
  expect(second.ok && isFeatureEnabled(second.value, "CustomCPUCFSQuotaPeriod")).toBe(
    isFeatureEnabled(first.value, "CustomCPUCFSQuotaPeriod"),
  );
});
