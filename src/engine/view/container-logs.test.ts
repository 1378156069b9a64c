import { expect, test } from "vitest";
import { testPodChanges } from "../../../test/kit/pod-parts.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { ContainerState } from "../../model/generated/cri.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import { containerId, rawContainerId } from "../../model/ids.ts";
import { emptyObservedPod, type ObservedContainer } from "../../model/observed.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import { PodTable } from "../pods/pod-table.ts";
import { ContainerLogs } from "./container-logs.ts";

const never = new AbortController().signal;
const pod = buildPod({ metadata: { name: "web" } });
const { uid, name, namespace } = pod.metadata;
const main = { name: "web", image: "", imageID: "", ready: false, restartCount: 0 };
const terminated = { exitCode: 1, containerID: "containerd://a" };

function container(id: string, restartCount: number, state: ObservedContainer["state"]) {
  return {
    id: containerId(`containerd://${id}`),
    name: "web",
    restartCount,
    state,
  } as ObservedContainer;
}

function world(...answers: readonly (ContainerState | Error)[]) {
  const table = new PodTable();
  const clock = new VirtualClock();
  const observed = table.writer("observed");
  const checkpoints = table.writer("checkpoint");
  let asked = 0;
  const runtime = {
    containerStatus: async () => {
      const answer = answers[asked++] ?? ContainerState.CONTAINER_EXITED;
      if (answer instanceof Error) throw answer;
      return { status: { state: answer } };
    },
  };
  const logs = new ContainerLogs({
    table,
    clock,
    log: silentLog,
    changes: testPodChanges(table),
    runtime,
    settings: { runtimeSettings: { podLogsRoot: "/logs" } as never },
  });
  return {
    clock,
    asked: () => asked,
    find: (previous: boolean, of = "web") => clock.run(logs.find(pod, of, previous, never)),
    /** `ended`: by an event. */
    observe: (containers: readonly ObservedContainer[], ended: readonly string[] = []): void => {
      const exits = new Map(
        ended.map((id) => [
          rawContainerId(containerId(`containerd://${id}`)),
          { exitCode: 0, finishedAt: 1n },
        ]),
      );
      observed.set(uid, {
        state: { ...emptyObservedPod(uid, name, namespace), containers },
        exits,
      });
    },
    /** What the API server has been sent may not be on disk yet. */
    keep: (newest: PodStatus, written: PodStatus | undefined): void => {
      const flags = { isInherited: false, isOver: false, isPending: true, hasFailed: false };
      checkpoints.set(uid, { newest, written, ...flags });
    },
  };
}

test("the log of a container that waits to start again is its last run's", async () => {
  const { keep, observe, find } = world();
  const waiting = { ...main, state: { waiting: {} }, lastState: { terminated } };
  keep({ containerStatuses: [waiting] }, undefined);
  observe([container("b", 1, "running"), container("a", 0, "exited")]);
  const last = await find(false);
  expect(last?.path).toMatch(/\/web\/0\.log$/);
  expect(await last?.finished()).toBe(true);
  const running = { ...waiting, containerID: "containerd://b", state: { running: {} } };
  keep({ containerStatuses: [running] }, undefined);
  const current = await find(false);
  expect(current?.path).toMatch(/\/web\/1\.log$/);
  expect(await current?.finished()).toBe(false);
  expect((await find(true))?.path).toMatch(/\/web\/0\.log$/);
  expect(await find(false, "other")).toBeUndefined();
});

test("the previous log is there as soon as the API server may show the restart, though it is not on disk yet", async () => {
  const { keep, observe, find } = world();
  observe([container("b", 1, "running"), container("a", 0, "exited")]);
  const before = { ...main, containerID: "containerd://a", state: { running: {} } };
  const after = { ...main, containerID: "containerd://b", lastState: { terminated } };
  keep({ containerStatuses: [after] }, { containerStatuses: [before] });
  expect((await find(true))?.path).toMatch(/\/web\/0\.log$/);
});

test("the log of a container that an event has ended is given once the runtime has ended it too", async () => {
  const running = ContainerState.CONTAINER_RUNNING;
  const { clock, asked, observe, find } = world(running, running);
  observe([container("a", 0, "exited")], ["a"]);
  const log = await find(false);
  expect(log?.path).toMatch(/\/web\/0\.log$/);
  expect(asked()).toBe(3);
  expect(clock.monotonicMs()).toBe(25);
});

test.each([
  [
    "has it as running for ever",
    Array.from({ length: 99 }, () => ContainerState.CONTAINER_RUNNING),
  ],
  ["does not know it any more", [new RuntimeError("ContainerStatus", "NotFound", "gone")]],
  ["does not answer", [new RuntimeError("ContainerStatus", "Unavailable", "away")]],
])("the log is given also when the runtime %s", async (_, answers) => {
  const { observe, find } = world(...answers);
  observe([container("a", 0, "exited")], ["a"]);
  expect(await find(false)).toBeDefined();
});

test("the runtime is not asked about a container that runs, nor about one whose end it said itself", async () => {
  const { asked, observe, find } = world();
  observe([container("a", 0, "running")], []);
  await find(false);
  observe([container("a", 0, "exited")], []);
  await find(false);
  expect(asked()).toBe(0);
});
