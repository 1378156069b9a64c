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
  const plain = testPod({ containers: [{ name: "main" }] });
  return {
    ...plain,
    status: { phase, containerStatuses: containers, initContainerStatuses: init },
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

test("the first exit code that is not 0 counts, in the order of pods and containers", () => {
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
});

test("a pod that failed without a container counts as 1, a sidecar that was stopped not at all", () => {
  expect(exitCodeOf([pod("Failed", [])])).toBe(1);
  const sidecar = status("proxy", { state: ended(143) });
  expect(exitCodeOf([pod("Succeeded", [status("main", { state: ended(0) })], [sidecar])])).toBe(0);
});

test("a pod is over in a terminal phase only", () => {
  expect(
    ["Pending", "Running", "Succeeded", "Failed"].map((phase) => isOver(pod(phase, []))),
  ).toEqual([false, false, true, true]);
});
