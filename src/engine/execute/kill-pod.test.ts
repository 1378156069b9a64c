import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { ExecutorWorld } from "../../../test/sim/executor-world.ts";
import { settle } from "../../../test/sim/virtual-clock.ts";
import { ContainerState } from "../../model/generated/cri.ts";
import type { PodSpec } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import { kubeletAction } from "./step-report.ts";

interface RunningPod {
  readonly world: ExecutorWorld;
  readonly pod: Pod;
  /** What was stopped: second of the kill, name, and the grace that the runtime was given. */
  readonly stops: [number, string, number][];
}

/** A pod all of whose containers run; the kill's seconds count from here. */
async function runningPod(
  spec: Pick<PodSpec, "containers"> & Partial<PodSpec>,
): Promise<RunningPod> {
  const world = new ExecutorWorld();
  const pod = testPod(spec);
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  for (const _ of containers) await world.sync(pod);
  const startMs = world.clock.monotonicMs();
  const stops: RunningPod["stops"] = [];
  world.runtime.calls.push = (call) => {
    if (call.method === "StopContainer") {
      const second = (world.clock.monotonicMs() - startMs) / 1000;
      stops.push([second, call.name ?? "", call.timeoutSeconds ?? 0]);
    }
    return 0;
  };
  return { world, pod, stops };
}

test("regular containers end first, then the sidecars from the last to the first", async () => {
  const { world, pod, stops } = await runningPod({
    initContainers: [
      { name: "mesh", restartPolicy: "Always", command: ["serve", "1"] },
      { name: "proxy", restartPolicy: "Always", command: ["serve", "2"] },
    ],
    containers: [
      { name: "web", command: ["serve", "5"] },
      { name: "log", command: ["serve", "3"] },
    ],
  });
  const reports = await world.clock.run(world.kill(pod));
  expect(stops).toEqual([
    [0, "log", 30],
    [0, "web", 30],
    [5, "proxy", 25],
    [7, "mesh", 23],
  ]);
  expect(reports.map((report) => `${kubeletAction(report)} ${report.target}`)).toEqual([
    "KillContainer log",
    "KillContainer web",
    "KillContainer proxy",
    "KillContainer mesh",
    "KillPodSandbox uid-1",
  ]);
});

test("sidecars wait no longer than the grace period, and get two seconds after it", async () => {
  const { world, pod, stops } = await runningPod({
    initContainers: [{ name: "proxy", restartPolicy: "Always", command: ["stubborn"] }],
    containers: [{ name: "web", command: ["stubborn"] }],
    terminationGracePeriodSeconds: 10,
  });
  await world.clock.run(world.kill(pod));
  expect(stops).toEqual([
    [0, "web", 10],
    [10, "proxy", 2],
  ]);
  expect(world.clock.monotonicMs()).toBe(12_000);
});

test("a preStop hook counts against the grace period", async () => {
  const { world, pod, stops } = await runningPod({
    containers: [{ name: "web", lifecycle: { preStop: { sleep: { seconds: 4 } } } }],
  });
  const [report] = await world.clock.run(world.kill(pod));
  expect(stops).toEqual([[4, "web", 26]]);
  const startedAtMs = report?.startedAtMs;
  expect(report?.spans).toEqual([{ what: "preStop hook", startedAtMs, durationMs: 4000 }]);
});

test("a preStop hook that never ends holds its container up for the grace period only", async () => {
  const { world, pod, stops } = await runningPod({
    containers: [
      {
        name: "web",
        command: ["stubborn"],
        lifecycle: { preStop: { exec: { command: ["stubborn"] } } },
      },
    ],
    terminationGracePeriodSeconds: 8,
  });
  await world.clock.run(world.kill(pod));
  expect(stops).toEqual([[8, "web", 2]]);
  expect(world.clock.monotonicMs()).toBe(10_000);
  expect(world.events.slice(-2).map(({ reason }) => reason)).toEqual([
    "Killing",
    "FailedPreStopHook",
  ]);
});

test("a preStop hook that fails is reported, and the container is stopped", async () => {
  const { world, pod, stops } = await runningPod({
    containers: [
      { name: "web", lifecycle: { preStop: { exec: { command: ["print", "", "secret", "1"] } } } },
    ],
  });
  const [report] = await world.clock.run(world.kill(pod));
  expect(stops).toEqual([[0, "web", 30]]);
  expect(report?.spans).toMatchObject([{ what: "preStop hook", failed: true }]);
  expect(world.events.at(-1)).toMatchObject({ type: "Warning", message: "PreStopHook failed" });
});

test("a grace period of 0 runs no hook and keeps no order, but gives two seconds", async () => {
  const { world, pod, stops } = await runningPod({
    initContainers: [{ name: "proxy", restartPolicy: "Always", command: ["stubborn"] }],
    containers: [
      {
        name: "web",
        command: ["stubborn"],
        lifecycle: { preStop: { sleep: { seconds: 20 } } },
      },
    ],
  });
  await world.clock.run(world.kill(pod, 0));
  expect(stops).toEqual([
    [0, "web", 2],
    [0, "proxy", 2],
  ]);
  expect(world.clock.monotonicMs()).toBe(2000);
});

test("a shortened grace period takes effect at once: the stop in flight is cancelled", async () => {
  const { world, pod, stops } = await runningPod({
    containers: [{ name: "web", command: ["stubborn"] }],
  });
  const cancel = new AbortController();
  const first = world.kill(pod, undefined, cancel.signal);
  await world.clock.advance(3000);
  cancel.abort(new Error("a shorter grace period"));
  const failure = { code: "Cancelled", message: "a shorter grace period" };
  expect(await first).toMatchObject([
    { kind: "kill-container", failure },
    { kind: "kill-pod", failure },
  ]);
  await world.clock.run(world.kill(pod, 5));
  expect(stops).toEqual([
    [0, "web", 30],
    [3, "web", 5],
  ]);
  expect(world.clock.monotonicMs()).toBe(8000);
});

test("a kill that is cancelled during a hook stops no container", async () => {
  const { world, pod, stops } = await runningPod({
    containers: [{ name: "web", lifecycle: { preStop: { sleep: { seconds: 20 } } } }],
  });
  const cancel = new AbortController();
  const kill = world.kill(pod, undefined, cancel.signal);
  await world.clock.advance(3000);
  cancel.abort(new Error("enough"));
  const failure = { code: "Cancelled", message: "enough" };
  expect(await kill).toMatchObject([
    { kind: "kill-container", failure },
    { kind: "kill-pod", failure },
  ]);
  await settle();
  expect(stops).toEqual([]);
  expect(world.events.at(-1)?.reason).toBe("Killing");
});

test("one container that cannot be stopped does not keep the others from being stopped", async () => {
  const { world, pod, stops } = await runningPod({
    initContainers: [{ name: "proxy", restartPolicy: "Always" }],
    containers: [{ name: "log" }, { name: "web" }],
    terminationGracePeriodSeconds: 6,
  });
  let calls = 0;
  world.runtime.intercept = (method, phase) => {
    if (method !== "StopContainer" || phase !== "before") return;
    calls += 1;
    if (calls === 1) throw new RuntimeError(method, "Internal", "shim is gone");
  };
  const reports = await world.clock.run(world.kill(pod));
  expect(stops).toEqual([
    [0, "web", 6],
    [6, "proxy", 2],
  ]);
  expect(reports[0]).toMatchObject({
    target: "log",
    failure: {
      code: "KillContainerError",
      message: "rpc error: code = Internal desc = shim is gone",
    },
  });
  expect(reports.filter(({ failure }) => failure !== undefined)).toHaveLength(1);
});

test("a container that the spec does not have any more is stopped as well", async () => {
  const { world, pod } = await runningPod({ containers: [{ name: "web" }, { name: "old" }] });
  const [web] = pod.spec.containers;
  if (web === undefined) throw new Error("no container");
  await world.clock.run(world.kill({ ...pod, spec: { ...pod.spec, containers: [web] } }));
  expect(world.runtime.findContainer("old")?.state).toBe(ContainerState.CONTAINER_EXITED);
});

test("many sandboxes stop in turns, and those that hang keep the others from theirs for 5 s", async () => {
  const world = new ExecutorWorld();
  const pods = Array.from({ length: 100 }, (_, index) =>
    testPod({ containers: [{ name: "web" }] }, { name: `web-${index}`, uid: `uid-${index}` }),
  );
  for (const pod of pods) await world.sync(pod);
  let stops = 0;
  world.runtime.intercept = async (method, phase) => {
    if (method !== "StopPodSandbox" || phase !== "before") return;
    stops += 1;
    if (stops <= 64) await world.clock.sleep(60_000, new AbortController().signal);
  };
  const kills = pods.map((pod) => world.kill(pod));
  await world.clock.advance(4_000);
  expect(stops).toBe(64);
  await world.clock.advance(2_000);
  expect(stops).toBe(100);
  await world.clock.run(Promise.all(kills));
});

test("a sandbox that is gone by the time it is stopped has been stopped", async () => {
  const { world, pod } = await runningPod({ containers: [{ name: "web" }] });
  world.runtime.stopPodSandbox = () =>
    Promise.reject(new RuntimeError("StopPodSandbox", "NotFound", "no such sandbox"));
  const reports = await world.clock.run(world.kill(pod));
  expect(reports.map(({ failure }) => failure)).toEqual([undefined, undefined]);
});

test("a hook that goes on when its container was stopped is given up then", async () => {
  const preStop = { exec: { command: ["drain"] } };
  const { world, pod } = await runningPod({
    containers: [{ name: "web", lifecycle: { preStop } }],
  });
  const hooks: AbortSignal[] = [];
  const { runtime } = world;
  runtime.execSync = (...call) => {
    for (const arg of call) if (arg instanceof AbortSignal) hooks.push(arg);
    return new Promise(() => undefined);
  };
  const stop = runtime.stopContainer.bind(runtime);
  const during: boolean[] = [];
  runtime.stopContainer = (...call) => {
    during.push(hooks[0]?.aborted ?? true);
    return stop(...call);
  };
  await world.clock.run(world.kill(pod));
  expect(during).toEqual([false]);
  expect(hooks.map(({ aborted }) => aborted)).toEqual([true]);
});
