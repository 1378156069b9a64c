import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { hasOutdatedReadiness } from "./outdated-readiness.ts";

const container = { name: "c", image: "i", imageID: "", ready: true, restartCount: 0 };

function pod(gates: readonly string[], status: PodStatus): Pod {
  return buildPod({
    metadata: { name: "p", namespace: "n", uid: "u" },
    spec: {
      containers: [{ name: "c" }],
      readinessGates: gates.map((conditionType) => ({ conditionType })),
    },
    status: { phase: "Running", containerStatuses: [container], ...status },
  });
}

const closed = {
  type: "Ready",
  status: "False",
  message: 'corresponding condition of pod readiness gate "gate" does not exist.',
};
const gate = { type: "gate", status: "True" };

test("an opened gate makes a pod's readiness outdated, until it is ready", () => {
  expect(hasOutdatedReadiness(pod(["gate"], { conditions: [closed, gate] }))).toBe(true);
  const open = { type: "Ready", status: "True" };
  expect(hasOutdatedReadiness(pod(["gate"], { conditions: [open, gate] }))).toBe(false);
});

test("an unchanged gate, or no gate at all, changes nothing", () => {
  expect(hasOutdatedReadiness(pod(["gate"], { conditions: [closed] }))).toBe(false);
  expect(hasOutdatedReadiness(pod([], { conditions: [closed, gate] }))).toBe(false);
  expect(hasOutdatedReadiness(pod(["gate"], { conditions: [gate] }))).toBe(false);
});
