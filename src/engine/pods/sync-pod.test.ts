import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { PodWorld } from "../../../test/sim/pod-world.ts";
import { RuntimeError } from "../../model/runtime-error.ts";

const pod = testPod({ containers: [{ name: "web" }] });

/** The pod runs, and nothing is asked of it. */
async function runningWorld(): Promise<PodWorld> {
  const world = new PodWorld(pod);
  await world.sync();
  world.calls.length = 0;
  world.takeRuntimeCalls();
  return world;
}

function failStops(world: PodWorld, isFailing: (id: string) => boolean): void {
  const { runtime } = world.executor;
  const stop = runtime.stopPodSandbox.bind(runtime);
  runtime.stopPodSandbox = (id, signal) =>
    isFailing(id)
      ? Promise.reject(new RuntimeError("StopPodSandbox", "Unknown", "the network plugin hangs"))
      : stop(id, signal);
}

test("a new pod is prepared and started, and why has the steps", async () => {
  const world = new PodWorld(pod);
  expect(await world.sync()).toEqual({ terminal: false });
  expect(world.calls).toEqual(["prepare", "changed"]);
  expect(world.steps.map(({ action, outcome }) => `${action}: ${outcome}`)).toEqual([
    "create sandbox of web_default(uid-1): done",
    "start container web: done",
  ]);
});

test("a pod that runs as asked is left alone", async () => {
  const world = await runningWorld();
  await world.sync();
  expect(world.takeRuntimeCalls()).toEqual([]);
  expect(world.calls).toEqual(["prepare", "unchanged"]);
  expect(world.status.containerStatuses?.[0]?.state?.running).toBeDefined();
});

test("a pod waits for the network of the node", async () => {
  const world = new PodWorld(pod);
  world.networkProblem = "cni plugin not initialized";
  await expect(world.sync()).rejects.toThrow("network is not ready: cni plugin not initialized");
  expect(world.takeRuntimeCalls()).toEqual([]);
  expect(world.calls).toEqual([]);
});

test("a leftover sandbox that cannot be stopped keeps its pod neither from a restart nor from its status", async () => {
  const world = await runningWorld();
  const leftover = await world.addLeftover(7);
  failStops(world, (id) => id === leftover);
  world.executor.runtime.findContainer("web")?.end(1);
  await expect(world.sync()).rejects.toThrow("the network plugin hangs");
  expect(world.takeRuntimeCalls()).toEqual(["CreateContainer", "StartContainer"]);
  expect(world.steps).toMatchObject([
    { action: "start container web", outcome: "done" },
    { action: `stop sandbox ${leftover}`, outcome: "failed" },
  ]);
  await expect(world.sync()).rejects.toThrow("the network plugin hangs");
  expect(world.status.containerStatuses).toMatchObject([
    { restartCount: 1, state: { running: {} } },
  ]);
});

test("a leftover sandbox is stopped, and the pod it belongs to runs on", async () => {
  const world = await runningWorld();
  await world.addLeftover(7);
  await world.sync();
  expect(world.takeRuntimeCalls()).toEqual(["StopPodSandbox"]);
  await world.sync();
  expect(world.takeRuntimeCalls()).toEqual([]);
});

test("a pod starts over though a leftover of it cannot be stopped", async () => {
  const world = await runningWorld();
  world.executor.runtime.crashSandbox();
  const leftover = await world.addLeftover(-1);
  failStops(world, (id) => id === leftover);
  await expect(world.sync()).rejects.toThrow("the network plugin hangs");
  expect(world.takeRuntimeCalls()).toEqual([
    "StopPodSandbox",
    "RunPodSandbox",
    "CreateContainer",
    "StartContainer",
  ]);
});

test("containers that run outside the pod's cgroup are stopped before anything is prepared", async () => {
  const world = await runningWorld();
  world.hasCgroup = false;
  await world.sync();
  expect(world.takeRuntimeCalls()).toEqual(["StopContainer", "StopPodSandbox"]);
  expect(world.calls).toEqual(["changed"]);
  expect(world.steps[0]).toMatchObject({
    action: "stop container web",
    because: "its containers run outside the pod's cgroup",
  });
});

test("a stop that fails because of a missing cgroup fails the sync, and why has it", async () => {
  const world = await runningWorld();
  world.hasCgroup = false;
  world.executor.runtime.intercept = (method) => {
    if (method === "StopContainer") throw new RuntimeError(method, "Unknown", "the shim hangs");
  };
  await expect(world.sync()).rejects.toThrow("the shim hangs");
  expect(world.steps[0]).toMatchObject({ action: "stop container web", outcome: "failed" });
});

test("a container in its back-off waits, and the sync says until when", async () => {
  const world = await runningWorld();
  world.executor.runtime.findContainer("web")?.end(1);
  await world.sync();
  world.executor.runtime.findContainer("web")?.end(1);
  world.takeRuntimeCalls();
  const untilMs = world.executor.clock.nowMs() + 10_000;
  await expect(world.sync()).rejects.toMatchObject({ retryAtMs: untilMs });
  expect(world.takeRuntimeCalls()).toEqual([]);
  expect(world.steps).toMatchObject([
    { action: "start container web", outcome: "waiting", untilMs },
  ]);
  expect(world.status.containerStatuses?.[0]?.state?.waiting?.reason).toBe("CrashLoopBackOff");
});

test("a pod that has run to its end is terminal, and nothing is prepared for it any more", async () => {
  const once = testPod({ restartPolicy: "Never", containers: [{ name: "web" }] });
  const world = new PodWorld(once);
  await world.sync();
  world.executor.runtime.findContainer("web")?.end(0);
  world.calls.length = 0;
  expect(await world.sync()).toEqual({ terminal: true });
  expect(world.status.phase).toBe("Succeeded");
  expect(world.calls).toEqual([]);
});
