import { describe, expect, test } from "vitest";
import { runningPod } from "../../test/kit/pods.ts";
import type { ContainerStatus, PodStatus } from "./generated/kubernetes.ts";
import type { Pod } from "./pod.ts";
import { podRow } from "./pod-row.ts";

const nowMs = Date.parse("2026-01-01T00:10:00Z");

function container(name: string, changes: Partial<ContainerStatus>): ContainerStatus {
  return { name, image: "", imageID: "", ready: false, restartCount: 0, ...changes };
}

const running = { running: { startedAt: "2026-01-01T00:00:00Z" } };
const exited = (exitCode: number, reason?: string) => ({ terminated: { exitCode, reason } });

function pod(status: PodStatus, changes: Partial<Pod["spec"]> = {}): Pod {
  const base = runningPod("web");
  return { ...base, spec: { ...base.spec, ...changes }, status };
}

test("a running pod", () => {
  expect(podRow(runningPod("web"), nowMs)).toEqual({
    namespace: "default",
    name: "web",
    ready: "1/1",
    status: "Running",
    restarts: "0",
    age: "10m",
    ip: "10.88.0.2",
    node: "node-1",
  });
});

test("a pod that was not synced yet is pending", () => {
  const { status: _, ...fresh } = runningPod("web");
  expect(podRow(fresh, nowMs)).toMatchObject({ status: "Pending", ready: "0/1", ip: "<none>" });
});

test("restarts show how long ago the last one was", () => {
  const crashed = pod({
    phase: "Running",
    containerStatuses: [
      container("main", {
        restartCount: 3,
        state: { waiting: { reason: "CrashLoopBackOff" } },
        lastState: { terminated: { exitCode: 1, finishedAt: "2026-01-01T00:09:48Z" } },
      }),
    ],
  });
  expect(podRow(crashed, nowMs)).toMatchObject({
    status: "CrashLoopBackOff",
    restarts: "3 (12s ago)",
    ready: "0/1",
  });
});

describe("the status of a pod", () => {
  const init = { initContainers: [{ name: "setup" }, { name: "proxy", restartPolicy: "Always" }] };
  const ready = [{ type: "Ready", status: "True" }];
  test.each<[string, PodStatus]>([
    [
      "ContainerCreating",
      {
        containerStatuses: [
          container("main", { state: { waiting: { reason: "ContainerCreating" } } }),
        ],
      },
    ],
    [
      "ErrImagePull",
      {
        containerStatuses: [container("main", { state: { waiting: { reason: "ErrImagePull" } } })],
      },
    ],
    [
      "Completed",
      {
        phase: "Succeeded",
        containerStatuses: [container("main", { state: exited(0, "Completed") })],
      },
    ],
    [
      "Error",
      { phase: "Failed", containerStatuses: [container("main", { state: exited(1, "Error") })] },
    ],
    [
      "OOMKilled",
      {
        phase: "Failed",
        containerStatuses: [container("main", { state: exited(137, "OOMKilled") })],
      },
    ],
    [
      "ExitCode:2",
      { phase: "Failed", containerStatuses: [container("main", { state: exited(2) })] },
    ],
    ["Evicted", { phase: "Failed", reason: "Evicted" }],
    [
      "Running",
      {
        phase: "Running",
        conditions: ready,
        containerStatuses: [
          container("a", { state: exited(0, "Completed") }),
          container("b", { ready: true, state: running }),
        ],
      },
    ],
    [
      "NotReady",
      {
        phase: "Running",
        containerStatuses: [
          container("a", { state: exited(0, "Completed") }),
          container("b", { ready: true, state: running }),
        ],
      },
    ],
    [
      "Error",
      {
        phase: "Running",
        containerStatuses: [
          container("a", { state: exited(0, "Completed") }),
          container("b", { state: exited(1, "Error") }),
        ],
      },
    ],
  ])("is %s", (expected, status) => {
    expect(podRow(pod(status), nowMs).status).toBe(expected);
  });

  test.each<[string, readonly ContainerStatus[]]>([
    ["Init:0/2", [container("setup", { state: running })]],
    ["Init:0/2", [container("setup", { state: { waiting: { reason: "PodInitializing" } } })]],
    [
      "Init:CrashLoopBackOff",
      [container("setup", { state: { waiting: { reason: "CrashLoopBackOff" } } })],
    ],
    ["Init:Error", [container("setup", { state: exited(1, "Error") })]],
    ["Init:ExitCode:3", [container("setup", { state: exited(3) })]],
    [
      "Init:1/2",
      [
        container("setup", { state: exited(0, "Completed") }),
        container("proxy", { state: running }),
      ],
    ],
  ])("is %s while init containers are not done", (expected, initContainerStatuses) => {
    const status = {
      phase: "Pending",
      initContainerStatuses,
      containerStatuses: [container("main", { state: { waiting: { reason: "PodInitializing" } } })],
    };
    expect(podRow(pod(status, init), nowMs).status).toBe(expected);
  });

  test("counts a started sidecar among the containers", () => {
    const status = {
      phase: "Running",
      conditions: ready,
      initContainerStatuses: [
        container("setup", { restartCount: 2, state: exited(0, "Completed") }),
        container("proxy", { restartCount: 1, started: true, ready: true, state: running }),
      ],
      containerStatuses: [container("main", { ready: true, state: running })],
    };
    expect(podRow(pod(status, init), nowMs)).toMatchObject({
      status: "Running",
      ready: "2/2",
      restarts: "1",
    });
  });

  test("names the image that a container waits for", () => {
    const message = 'Pulling image "a.io/b:1" since 2026-01-01T00:09:00Z';
    const pulling = { waiting: { reason: "ContainerCreating", message } };
    const status = { phase: "Pending", containerStatuses: [container("main", { state: pulling })] };
    expect(podRow(pod(status), nowMs).status).toBe("ContainerCreating (pulling a.io/b:1)");
    pulling.waiting.message += ", 1.3 of 5.0 MB (25%)";
    expect(podRow(pod(status), nowMs).status).toBe("ContainerCreating (pulling a.io/b:1, 25%)");
  });

  test("is Terminating once deletion was asked for, until it has ended", () => {
    const { metadata, ...rest } = runningPod("web");
    const leaving = {
      ...rest,
      metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:09:00Z" },
    };
    expect(podRow(leaving, nowMs).status).toBe("Terminating");
    const done = { ...leaving, status: { phase: "Succeeded" } };
    expect(podRow(done, nowMs).status).toBe("Succeeded");
  });
});
