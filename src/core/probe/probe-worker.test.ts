import { expect, test } from "vitest";
import type { Container, PodStatus } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import { initialProbeState, type ProbeSubject, planProbe } from "./probe-worker.ts";

const web: Container = {
  name: "web",
  image: "i",
  restartPolicy: "Never",
  restartPolicyRules: [
    { action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } },
  ],
};
const helper: Container = { name: "helper", image: "i" };

function subjectOf(container: Container): ProbeSubject {
  return {
    kind: "readiness",
    probe: {},
    container,
    pod: {
      metadata: { name: "a", namespace: "ns", uid: podUid("1") },
      spec: { containers: [web, helper], restartPolicy: "Never" },
    },
    agentStartedAtMs: 0,
  };
}

function ended(
  exitCodes: Readonly<Record<string, number>>,
  more: Partial<PodStatus> = {},
): PodStatus {
  const containerStatuses = Object.entries(exitCodes).map(([name, exitCode]) => ({
    name,
    image: "",
    imageID: "",
    ready: false,
    restartCount: 0,
    containerID: `r://${name}`,
    state: { terminated: { exitCode } },
  }));
  return { phase: "Running", containerStatuses, ...more };
}

test.each([
  { name: "it is not restarted", status: ended({ web: 1, helper: 1 }), next: "stop" },
  { name: "another's end restarts all", status: ended({ web: 42, helper: 1 }), next: "wait" },
  {
    name: "all are being restarted",
    status: ended(
      { web: 1, helper: 1 },
      { conditions: [{ type: "AllContainersRestarting", status: "True" }] },
    ),
    next: "wait",
  },
])("an ended container, $name: $next", ({ status, next }) => {
  const round = planProbe(subjectOf(helper), initialProbeState, status, 0);
  expect(round.next).toBe(next);
  expect(round.changes.at(-1)).toEqual({
    kind: "set",
    containerId: "r://helper",
    result: "Failure",
  });
});
