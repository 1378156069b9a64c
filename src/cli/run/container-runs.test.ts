import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import type { ContainerStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { begunRuns, exitCodeOf, isOver } from "./container-runs.ts";

const ended = (exitCode: number) => ({ terminated: { exitCode } });

function status(name: string, more: Partial<ContainerStatus>): ContainerStatus {
  return { name, image: "i", imageID: "", ready: false, restartCount: 0, ...more };
}

function pod(
  phase: string,
  containers: readonly ContainerStatus[],
  init: readonly ContainerStatus[] = [],
): Pod {
  const plain = testPod({
    containers: containers.map(({ name }) => ({ name })),
    initContainers: init.map(({ name }) => ({ name })),
  });
  // As agents report them.
  const sorted = containers.toSorted((a, b) => a.name.localeCompare(b.name));
  return {
    ...plain,
    status: { phase, containerStatuses: sorted, initContainerStatuses: init },
  };
}

test.each([
  { what: "one that has not started", state: { waiting: {} }, restartCount: 0, runs: [] },
  { what: "one that runs", state: { running: {} }, restartCount: 0, runs: [0] },
  { what: "one that has ended", state: ended(0), restartCount: 0, runs: [0] },
  {
    what: "one that was started again",
    state: { running: {} },
    lastState: ended(1),
    restartCount: 2,
    runs: [1, 2],
  },
  {
    what: "one that waits to start again",
    state: { waiting: {} },
    lastState: ended(1),
    restartCount: 2,
    runs: [2],
  },
])("the runs of $what are $runs", ({ state, lastState = {}, restartCount, runs }) => {
  const shown = pod("Running", [status("main", { state, lastState, restartCount })]);
  expect(begunRuns(shown)).toEqual(runs.map((run) => ({ container: "main", run })));
});

test("the first exit code that is not 0 counts, in the order of pods and of containers in the spec", () => {
  const well = pod("Succeeded", [status("main", { state: ended(0) })]);
  const ill = pod("Failed", [status("a", { state: ended(0) }), status("b", { state: ended(7) })]);
  const worse = pod("Failed", [status("a", { state: ended(9) })]);
  expect(exitCodeOf([well])).toBe(0);
  expect(exitCodeOf([well, ill, worse])).toBe(7);
  const init = pod(
    "Failed",
    [status("a", { state: { waiting: {} } })],
    [status("i", { state: ended(5) })],
  );
  expect(exitCodeOf([init, ill])).toBe(5);
  const both = pod("Failed", [status("b", { state: ended(3) }), status("a", { state: ended(4) })]);
  expect(exitCodeOf([both])).toBe(3);
});

test("a pod that failed without a container counts as 1", () => {
  expect(exitCodeOf([pod("Failed", [])])).toBe(1);
  const evicted = pod("Failed", [status("main", { state: ended(137) })]);
  expect(exitCodeOf([{ ...evicted, status: { ...evicted.status, reason: "Evicted" } }])).toBe(1);
});

test("a sidecar that was stopped does not count", () => {
  const proxy = { name: "proxy", restartPolicy: "Always" };
  const withSidecar = (phase: string, exitCode: number): Pod => {
    const plain = pod(
      phase,
      [status("main", { state: ended(exitCode) })],
      [status("proxy", { state: ended(143) })],
    );
    return { ...plain, spec: { ...plain.spec, initContainers: [proxy] } };
  };
  expect(exitCodeOf([withSidecar("Succeeded", 0)])).toBe(0);
  expect(exitCodeOf([withSidecar("Failed", 7)])).toBe(7);
});

test("a pod is over in a terminal phase only", () => {
  expect(
    ["Pending", "Running", "Succeeded", "Failed"].map((phase) => isOver(pod(phase, []))),
  ).toEqual([false, false, true, true]);
});
