import { expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { testPod } from "../../../test/kit/pods.ts";
import { ExecutorWorld } from "../../../test/sim/executor-world.ts";
import type { WorkerState } from "../../core/worker/worker-state.ts";
import { podUid, rawContainerId, runtimeContainerId } from "../../model/ids.ts";
import type { RuntimeEvent, RuntimeEvents } from "../../ports/runtime-events.ts";
import type { PodWorker } from "../pods/pod-table.ts";
import { ObservedPods } from "./observed-pods.ts";
import { Observer } from "./observer.ts";
import { PodReader } from "./pod-reader.ts";

const uid1 = podUid("1");

const pod = testPod({ containers: [{ name: "web" }] });
const { uid } = pod.metadata;

function noop(): void {
  return undefined;
}

/** An observer of a simulated runtime that counts how often a pod is listed, which begins each read of it. */
function setUp() {
  const world = new ExecutorWorld();
  const { clock, runtime, table } = world;
  const stop = new AbortController();
  const state = {
    readsMs: [] as number[],
    looks: [] as string[],
    problems: [] as (string | undefined)[],
    warnings: [] as string[],
    /** What a read of one pod waits for, or fails with. */
    beforeRead: (): Promise<void> => Promise.resolve(),
    onEvent: noop as (event: RuntimeEvent) => void,
    housekeepings: 0,
  };
  const list = runtime.listPodSandboxes.bind(runtime);
  runtime.listPodSandboxes = async (filter, signal) => {
    if (filter.labelSelector !== undefined) {
      state.readsMs.push(clock.monotonicMs());
      await state.beforeRead();
    }
    return list(filter, signal);
  };
  const events: RuntimeEvents = {
    name: "cri",
    subscribe: (onSubscribed, onEvent, signal) => {
      state.onEvent = onEvent;
      onSubscribed();
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    },
  };
  const observed = new ObservedPods(table, { read: (asked) => reader.requestRead(asked) });
  const log = {
    debug: noop,
    info: noop,
    error: noop,
    warn: (message: string) => void state.warnings.push(message),
  };
  const wakeups = {
    look: (changed: string) => void state.looks.push(changed),
    housekeep: () => void state.housekeepings++,
    askToStart: noop,
    resume: noop,
  };
  const metrics = noMetrics;
  const reader = new PodReader(
    {
      table,
      observed,
      reading: { runtime, clock, runtimeName: "sim", table, observed },
      clock,
      log,
      faults: loudFaults,
      metrics,
      wakeups,
    },
    stop.signal,
  );
  const health = { note: (problem: string | undefined) => void state.problems.push(problem) };
  const eventSources = [events];
  const observer = new Observer(
    { runtime, eventSources, observed, reader, health, clock, log, metrics, wakeups },
    stop.signal,
  );
  return { world, clock, state, observed, reader, observer, stop };
}

test("a pod that cannot be read is retried until it can, and synced even if it is unchanged", async () => {
  const { clock, state, observed, reader } = setUp();
  state.beforeRead = () => Promise.reject(new Error("the runtime is gone"));
  reader.requestRead(uid1);
  await clock.advance(1000);
  expect(state.readsMs).toEqual([0, 100, 300, 700]);
  expect(() => observed.get(uid1)).toThrow("the runtime is gone");
  expect(state.warnings).toEqual(["cannot read a pod from the runtime"]);
  state.beforeRead = () => Promise.resolve();
  await clock.advance(1000);
  expect(state.readsMs).toEqual([0, 100, 300, 700, 1500]);
  expect(observed.get(uid1).uid).toBe("1");
  expect(state.looks).toEqual(["1"]);
});

/** Work that a test ends. */
function newWork() {
  let end: () => void = noop;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { ended, end };
}

function workerAt(state: WorkerState, running: Promise<void>): PodWorker {
  const none = { waitsFor: undefined, abort: undefined, lastActedAtMs: 0 };
  return { uid, state, arrival: 1, running, ...none };
}

const fullName = "web_ns";

test("a pod that is being removed is read when that ends, unless it was read by then", async () => {
  const { clock, world, state, reader, stop } = setUp();
  const removals = world.table.writer("removal");
  const first = newWork();
  removals.set(uid1, { state: "running", ended: first.ended });
  reader.readWhenQuiet(uid1);
  reader.readWhenQuiet(uid1);
  await clock.advance(5000);
  expect(state.readsMs).toEqual([]);
  first.end();
  await clock.advance(100);
  expect(state.readsMs).toEqual([5000]);

  const second = newWork();
  removals.set(uid1, { state: "running", ended: second.ended });
  reader.readWhenQuiet(uid1);
  await clock.advance(10);
  reader.requestRead(uid1);
  second.end();
  await clock.advance(1000);
  expect(state.readsMs).toEqual([5000, 5110]);
  stop.abort();
});

test("a pod in work is read soon if that takes long", async () => {
  const { clock, world, state, reader, stop } = setUp();
  const { ended, end } = newWork();
  const syncing = { state: "syncing", fullName, active: { pod } } as const;
  world.table.writer("worker").set(uid, workerAt(syncing, ended));
  reader.readWhenQuiet(uid);
  await clock.advance(2000);
  expect(state.readsMs).toEqual([1000]);
  end();
  stop.abort();
});

test("a pod that is being stopped is read when one of its containers ends, but not for the last one", async () => {
  const two = testPod({ containers: [{ name: "first" }, { name: "last" }] });
  const { clock, world, state, observed, observer, stop } = setUp();
  await world.sync(two);
  void observer.run();
  await clock.advance(100);
  const ids = observed.get(uid).containers.map(({ id }) => rawContainerId(id));
  expect(ids).toHaveLength(2);
  const { ended, end } = newWork();
  const terminating: WorkerState = {
    state: "terminating",
    fullName,
    deleted: true,
    evicted: false,
    restartRequested: false,
    started: true,
    observedRuntime: false,
    acknowledged: true,
    graceSeconds: 30,
    kills: [],
  };
  world.table.writer("worker").set(uid, workerAt(terminating, ended));
  const exit = { exitCode: 0, finishedAt: 0n };
  state.readsMs.length = 0;
  for (const [index, containerId] of ids.entries()) {
    await world.runtime.stopContainer(containerId, 0, stop.signal);
    state.onEvent({ kind: "stopped", containerId, exit });
    await clock.advance(10_000);
    expect(state.readsMs, `after ${index + 1} ends`).toHaveLength(1);
  }
  end();
  await clock.advance(100);
  expect(state.readsMs).toHaveLength(2);
  stop.abort();
});

test("reads that are asked for during a read are done by one that begins after it", async () => {
  const { clock, state, reader, stop } = setUp();
  state.beforeRead = () => clock.sleep(500, stop.signal);
  reader.requestRead(uid1);
  await clock.advance(100);
  reader.requestRead(uid1);
  const read = reader.readNow(uid1);
  await clock.advance(1000);
  await read;
  expect(state.readsMs).toEqual([0, 500]);
});

test("a pod that hangs delays no other, and is not taken for absent", async () => {
  const { world, clock, state, observed, observer, stop } = setUp();
  const other = { ...pod, metadata: { ...pod.metadata, uid: podUid("2"), name: "other" } };
  await world.sync(pod);
  await world.sync(other);
  const status = world.runtime.podSandboxStatus.bind(world.runtime);
  let isHanging = true;
  world.runtime.podSandboxStatus = async (id, signal) => {
    const answer = await status(id, signal);
    if (isHanging && answer.status?.metadata?.uid === uid) await clock.sleep(20_000, signal);
    return answer;
  };
  const running = observer.run();
  await clock.advance(2000);
  expect([observed.isListed, observed.find(podUid("2"))?.name]).toEqual([false, "other"]);
  await clock.advance(2000);
  expect([observed.isListed, state.housekeepings]).toEqual([true, 1]);
  expect(state.warnings).toEqual(["the runtime is slow to report pods"]);
  expect([observed.has(uid), observed.find(uid)]).toEqual([true, undefined]);
  expect(() => observed.get(uid)).toThrow("not reported");
  isHanging = false;
  await clock.advance(20_000);
  expect(observed.find(uid)?.name).toBe("web");
  expect(state.looks).toContain(uid);
  stop.abort();
  await running;
});

test("the end of a container that was never read is found, and read until the runtime shows it", async () => {
  const { world, clock, state, observed, observer, stop } = setUp();
  const running = observer.run();
  await clock.advance(10);
  await world.sync(pod);
  const [container] = await world.runtime.listContainers({}, stop.signal);
  const containerId = container?.id ?? "";
  const exit = { exitCode: 7, finishedAt: 5n };
  state.onEvent({ kind: "stopped", containerId: runtimeContainerId(containerId), exit });
  await clock.advance(20);
  await world.kill(pod);
  await clock.advance(5000);
  expect(observed.find(uid)?.containers[0]?.state).toBe("exited");
  expect(observed.exitOf(uid, runtimeContainerId(containerId))).toEqual(exit);
  stop.abort();
  await running;
});
