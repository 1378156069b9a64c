import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { Pod } from "../../model/pod.ts";
import { killedStatus } from "../status/killed-status.ts";
import {
  longestShutdownMs,
  planShutdown,
  shutdownGraceSeconds,
  shutdownPeriods,
} from "./plan-shutdown.ts";
import { isEndedByShutdown, shutdownKill } from "./shutdown-status.ts";

function podWith(priority: number | undefined, terminationGracePeriodSeconds?: number): Pod {
  return buildPod({
    metadata: { name: `p${priority}`, namespace: "ns", uid: `u${priority}`, generation: 3 },
    spec: { containers: [], priority, terminationGracePeriodSeconds },
  });
}

const none = { graceMs: 0, criticalGraceMs: 0, byPriority: [] };

test("one period becomes two, the later one for critical pods", () => {
  expect(shutdownPeriods({ ...none, graceMs: 30_000, criticalGraceMs: 10_000 })).toEqual([
    { priority: 0, graceSeconds: 20 },
    { priority: 2_000_000_000, graceSeconds: 10 },
  ]);
  expect(shutdownPeriods(none)).toEqual([]);
  expect(shutdownPeriods({ ...none, graceMs: 5000, criticalGraceMs: 10_000 })).toEqual([]);
});

test("periods by priority stand in for it, and add up", () => {
  const byPriority = [
    { priority: 100, graceSeconds: 10 },
    { priority: 0, graceSeconds: 60 },
  ];
  const periods = shutdownPeriods({ ...none, graceMs: 1, byPriority });
  expect(periods.map(({ priority }) => priority)).toEqual([0, 100]);
  expect(longestShutdownMs(periods)).toBe(70_000);
});

test("a pod belongs to the highest period that its priority reaches, or to the lowest", () => {
  const periods = [0, 10, 100].map((priority) => ({ priority, graceSeconds: 1 }));
  const groups = planShutdown(
    periods,
    [-5, undefined, 0, 9, 100, 2000].map((priority) => podWith(priority)),
  );
  expect(
    groups.map(({ priority, pods }) => [priority, pods.map((pod) => pod.spec.priority)]),
  ).toEqual([
    [0, [-5, undefined, 0, 9]],
    [100, [100, 2000]],
  ]);
});

test.each([
  { own: undefined, seconds: 20 },
  { own: 5, seconds: 5 },
  { own: 0, seconds: 0 },
  { own: 90, seconds: 20 },
])("a pod that asks for $own seconds gets $seconds of its group's 20", ({ own, seconds }) => {
  expect(shutdownGraceSeconds(podWith(0, own), { priority: 0, graceSeconds: 20 })).toBe(seconds);
});

test("the pod fails because of the shutdown, unless it succeeded", () => {
  expect(killedStatus({ phase: "Running" }, shutdownKill(podWith(0)))).toEqual({
    phase: "Failed",
    reason: "Terminated",
    message: "Pod was terminated in response to imminent node shutdown.",
    conditions: [
      {
        type: "DisruptionTarget",
        status: "True",
        reason: "TerminationByKubelet",
        message: "Pod was terminated in response to imminent node shutdown.",
        observedGeneration: 3,
      },
    ],
  });
  expect(killedStatus({ phase: "Succeeded" }, shutdownKill(podWith(0))).phase).toBe("Succeeded");
});

test("a pod that only the shutdown ended is wanted again afterwards", () => {
  expect(isEndedByShutdown(killedStatus({ phase: "Running" }, shutdownKill(podWith(0))))).toBe(
    true,
  );
  expect(isEndedByShutdown({ phase: "Failed", reason: "NodeShutdown" })).toBe(true);
  expect(isEndedByShutdown(killedStatus({ phase: "Succeeded" }, shutdownKill(podWith(0))))).toBe(
    false,
  );
  expect(isEndedByShutdown({ phase: "Failed", reason: "Terminated", message: "else" })).toBe(false);
  expect(isEndedByShutdown(undefined)).toBe(false);
});
