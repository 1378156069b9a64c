import { expect, test } from "vitest";
import type { GrpcCall } from "../../src/drivers/grpc/grpc-connection.ts";
import { NamespaceMode } from "../../src/model/generated/cri.ts";
import { compareCalls } from "./compare-calls.ts";
import { criJson } from "./cri-json.ts";
import { type PodCalls, podCalls } from "./pod-calls.ts";
import { recordedFolders } from "./recorded-node.ts";
import { loadRecording } from "./recording.ts";
import { scenarioSteps } from "./scenario-steps.ts";
import {
  httpScenario,
  registrationScenario,
  scenariosAlone,
  scenariosTogether,
} from "./scenarios.ts";
import { observedTrace, recordedTrace, type TracedCall } from "./trace.ts";

const scenarios = [...scenariosTogether, ...scenariosAlone].filter(
  (name) => name !== httpScenario && name !== registrationScenario,
);
const none: PodCalls = { inOrder: [], removals: [] };

function recorded(scenario: string): ReadonlyMap<string, PodCalls> {
  return podCalls(recordedTrace(loadRecording(scenario).cri), recordedFolders);
}

function only(calls: ReadonlyMap<string, PodCalls>): PodCalls {
  return [...calls.values()][0] ?? none;
}

/** What another machine would show for the same life: other ids, folders, times and image ids. */
function elsewhere(trace: readonly TracedCall[]): readonly TracedCall[] {
  const text = JSON.stringify(trace)
    .replaceAll(/\b[0-9a-f]{64}\b/g, (id) => id.slice(32) + id.slice(0, 32))
    .replaceAll("/CONF/kl", "/data/kubelet")
    .replaceAll("/CONF/podlogs", "/data/logs")
    .replaceAll("/conf/kubepods", "/root/kubepods")
    .replaceAll("2026-11-15T", "2027-01-01T")
    .replaceAll(/containers\/c\/[0-9a-f]{8}/g, "containers/c/01234567");
  return JSON.parse(text) as readonly TracedCall[];
}

test.each(scenarios)("the actions of %s are understood", (scenario) => {
  expect(scenarioSteps(loadRecording(scenario).actions).length).toBeGreaterThan(0);
});

test("the same life on another machine shows no difference", () => {
  const trace = recordedTrace(loadRecording("sidecar-restart").cri);
  const folders = {
    data: "/data/kubelet",
    podLogs: "/data/logs",
    cgroupRoot: "/root",
    registry: "registry.example",
  };
  const there = only(podCalls(elsewhere(trace), folders));
  expect(there.inOrder.length).toBeGreaterThan(8);
  expect(compareCalls(only(recorded("sidecar-restart")), there)).toEqual([]);
});

test("a changed field is named with both values", () => {
  const { inOrder, removals } = only(recorded("plain"));
  const changed = inOrder.map((call) =>
    call.method === "StopContainer"
      ? { ...call, deadlineSeconds: 123, request: { container_id: call.target, timeout: 3 } }
      : call,
  );
  expect(compareCalls({ inOrder, removals }, { inOrder: changed, removals })).toEqual([
    { path: "StopContainer <container c 0>: deadline", recorded: "130", berth: "123" },
    { path: "StopContainer <container c 0>: request.timeout", recorded: "10", berth: "3" },
  ]);
});

test("a call too many and one too few are distinguished", () => {
  const trace = recordedTrace(loadRecording("plain").cri);
  const fewer = trace.filter(({ method }) => method !== "StopContainer");
  const paths = (left: PodCalls, right: PodCalls): readonly unknown[] =>
    compareCalls(left, right).map(({ path, recorded: was, berth: is }) => [path, was, is]);
  const full = only(recorded("plain"));
  const less = only(podCalls(fewer, recordedFolders));
  const called = "called, deadline 130, ok";
  expect(paths(full, less)).toEqual([["StopContainer <container c 0>", called, "(absent)"]]);
  expect(paths(less, full)).toEqual([["StopContainer <container c 0>", "(absent)", called]]);
});

test("calls in another order are a difference", () => {
  const { inOrder, removals } = only(recorded("plain"));
  const [first, second, ...rest] = inOrder;
  if (first === undefined || second === undefined) throw new Error("the recording is empty");
  const swapped = { inOrder: [second, first, ...rest], removals };
  expect(compareCalls({ inOrder, removals }, swapped)).toHaveLength(2);
});

test("messages are shown as the recordings show them", () => {
  const message = {
    podSandboxId: "",
    config: {
      metadata: { name: "c", attempt: 0 },
      envs: [{ key: "A", value: Buffer.from("b") }],
      labels: {},
      annotations: { camelKey: "" },
      linux: {
        resources: { cpuShares: 2n, oomScoreAdj: 0n },
        securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER, network: 0 } },
      },
    },
  };
  expect(criJson(message)).toEqual({
    config: {
      metadata: { name: "c" },
      envs: [{ key: "A", value: "b" }],
      annotations: { camelKey: "" },
      linux: {
        resources: { cpu_shares: 2 },
        security_context: { namespace_options: { pid: "CONTAINER" } },
      },
    },
  });
});

test("observed calls are put into the order of their starts", () => {
  const call = (method: string, startedMs: number): GrpcCall => ({
    method,
    request: {},
    startedMs,
    endedMs: startedMs + 5,
    timeoutMs: 120_000,
  });
  const trace = observedTrace([call("StartContainer", 20), call("CreateContainer", 10)]);
  expect(trace.map(({ method }) => method)).toEqual(["CreateContainer", "StartContainer"]);
  expect(trace[0]).toMatchObject({ deadlineSeconds: 120, startSeconds: 0.01, endSeconds: 0.015 });
});
