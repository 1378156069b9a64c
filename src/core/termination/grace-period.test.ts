import { expect, test } from "vitest";
import { stopTimeoutSeconds, terminationGraceSeconds } from "./grace-period.ts";

const container = {
  name: "web",
  livenessProbe: { terminationGracePeriodSeconds: 5 },
  startupProbe: { terminationGracePeriodSeconds: 7 },
};

test.each([
  { reason: "LivenessProbe", seconds: 5 },
  { reason: "StartupProbe", seconds: 7 },
  { reason: "Unknown", seconds: 30 },
] as const)("killed for $reason a container gets $seconds seconds", ({ reason, seconds }) => {
  const pod = { metadata: {}, spec: { terminationGracePeriodSeconds: 30 } };
  expect(terminationGraceSeconds(pod, container, reason)).toBe(seconds);
});

test("the grace period of a deletion goes before all others", () => {
  const pod = {
    metadata: { deletionGracePeriodSeconds: 1 },
    spec: { terminationGracePeriodSeconds: 30 },
  };
  expect(terminationGraceSeconds(pod, container, "LivenessProbe")).toBe(1);
});

test("a pod without any grace period, and one whose time is up, get two seconds", () => {
  expect(terminationGraceSeconds({ metadata: {}, spec: {} }, container, "LivenessProbe")).toBe(2);
  expect(stopTimeoutSeconds(-3)).toBe(2);
});
