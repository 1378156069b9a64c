import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { PodWorld } from "../../../test/sim/pod-world.ts";
import type { PodKillReason } from "../../core/status/killed-status.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import { syncTerminatedPod, syncTerminatingPod, syncTerminatingRuntimePod } from "./end-pod.ts";

const { signal } = new AbortController();

async function runningWorld(
  pod: Pod = testPod({ containers: [{ name: "web" }] }),
): Promise<PodWorld> {
  const world = new PodWorld(pod);
  await world.sync();
  world.calls.length = 0;
  world.takeRuntimeCalls();
  return world;
}

async function terminate(
  world: PodWorld,
  graceSeconds?: number,
  { cancel = signal, killReason }: { cancel?: AbortSignal; killReason?: PodKillReason } = {},
): Promise<void> {
  const { pod, progress, executor } = world;
  await executor.clock.advance(1000);
  const observed = await executor.read(pod);
  const request = { pod, observed, graceSeconds, killReason, progress };
  await executor.clock.run(syncTerminatingPod(world.endDeps, request, cancel));
}

test("a pod that ends is stopped with its leftovers, and its status says how it ended", async () => {
  const world = await runningWorld();
  await world.addLeftover(7);
  await terminate(world, 5);
  expect(world.takeRuntimeCalls()).toEqual(["StopContainer", "StopPodSandbox", "StopPodSandbox"]);
  expect(world.calls).toEqual(["stopping", "changed"]);
  expect(world.steps[0]).toMatchObject({
    action: "stop container web",
    because: "the pod is ending, with 5 s of grace",
    outcome: "done",
  });
  expect(world.status.containerStatuses?.[0]?.state?.terminated).toBeDefined();
});

/** The containers of a status, and whether each runs or has ended. */
function states({ containerStatuses = [] }: PodStatus): string {
  return containerStatuses
    .map(({ name, state }) => `${name} ${state?.running === undefined ? "ended" : "runs"}`)
    .join(", ");
}

test("the status shows each container that ends before the others, and the last with the pod's end", async () => {
  const containers = [
    { name: "fast", command: ["serve", "2"] },
    { name: "slow", command: ["serve", "9"] },
    { name: "last", command: ["serve", "20"] },
  ];
  const world = await runningWorld(testPod({ containers }));
  const { runtime } = world.executor;
  runtime.intercept = async (method, phase) => {
    if (method !== "StopContainer") return;
    await world.read();
    if (phase === "after") await world.read();
  };
  world.statuses.reported.length = 0;
  await terminate(world);
  expect(world.statuses.reported.map(({ status }) => states(status))).toEqual([
    "fast runs, last runs, slow runs",
    "fast ended, last runs, slow runs",
    "fast ended, last runs, slow ended",
    "fast ended, last ended, slow ended",
  ]);
  expect(world.statuses.reported.map(({ status }) => status.phase)).toEqual([
    "Running",
    "Running",
    "Running",
    "Succeeded",
  ]);
});

test("a container that a late call starts while the pod is stopped is not shown as running again", async () => {
  const containers = [
    { name: "fast", command: ["serve", "2"] },
    { name: "slow", command: ["serve", "9"] },
  ];
  const world = await runningWorld(testPod({ containers }));
  const { runtime } = world.executor;
  runtime.intercept = async (method, phase) => {
    if (method !== "StopContainer" || phase !== "after") return;
    runtime.intercept = () => undefined;
    await world.read();
    await startAgain(world, "fast");
    await world.read();
  };
  world.statuses.reported.length = 0;
  await terminate(world);
  expect(world.statuses.reported.map(({ status }) => states(status))).toEqual([
    "fast runs, slow runs",
    "fast ended, slow runs",
    "fast ended, slow ended",
  ]);
});

/** As a call that was given up does when it completes: another instance of the container runs. */
async function startAgain({ pod, executor }: PodWorld, name: string): Promise<void> {
  const { runtime, deps } = executor;
  const { configs } = deps.start;
  const container = pod.spec.containers.find((each) => each.name === name) ?? { name };
  const sandbox = await configs.sandboxConfig(pod, 0);
  const config = await configs.containerConfig(
    {
      pod,
      placed: { kind: "regular", container, index: 0 },
      podIps: [],
      restartCount: 1,
      imageRef: "app:1",
      imageUser: undefined,
      imageVolumes: new Map(),
      targetContainerId: undefined,
    },
    signal,
  );
  if (!sandbox.ok || !config.ok) throw new Error("no config");
  const [{ id: sandboxId } = { id: "" }] = (await executor.read(pod)).sandboxes;
  const id = await runtime.createContainer(sandboxId, config.value, sandbox.value, signal);
  await runtime.startContainer(id, signal);
}

test("the status of a pod that has ended keeps its addresses, which its sandbox lost before it stopped", async () => {
  const world = await runningWorld();
  const { runtime } = world.executor;
  const { ips } = await world.executor.read(world.pod);
  expect(ips).toHaveLength(1);
  const readStatus = runtime.podSandboxStatus.bind(runtime);
  runtime.intercept = async (method, phase) => {
    if (method !== "StopPodSandbox" || phase !== "before") return;
    runtime.podSandboxStatus = async (...call) => {
      const { status } = await readStatus(...call);
      return { status: { ...status, network: {} } };
    };
    await world.read();
  };
  await terminate(world);
  expect(world.status).toMatchObject({ podIP: ips[0], podIPs: [{ ip: ips[0] }] });
});

test("the status of a pod that the node ends gives the reason from the beginning", async () => {
  const world = await runningWorld();
  world.statuses.reported.length = 0;
  const killReason = { reason: "Evicted", message: "the node was low on memory" };
  await terminate(world, 1, { killReason });
  const evicted = { phase: "Failed", ...killReason };
  const reported = world.statuses.reported.map(({ status }) => status);
  expect(reported.map(states)).toEqual(["web runs", "web ended"]);
  expect(reported).toMatchObject([evicted, evicted]);
});

test("a pod has not ended while a container runs that the runtime said it had stopped", async () => {
  const world = await runningWorld();
  const { runtime } = world.executor;
  runtime.stopContainer = () => Promise.resolve();
  runtime.stopPodSandbox = () => Promise.resolve();
  const id = runtime.findContainer("web")?.place.id;
  await expect(terminate(world)).rejects.toThrow(
    `containers run after they were stopped: sim://${id}`,
  );
  expect(states(world.status)).toBe("web runs");
  expect(world.status.phase).toBe("Running");
});

test("how a pod was ended is recorded with what it was decided from", async () => {
  const world = await runningWorld();
  await terminate(world);
  const decisions = world.endDeps.recorder.decisions(world.pod.metadata.uid);
  expect(decisions.find(({ kind }) => kind === "termination")).toMatchObject({
    input: { isWanted: true },
    outcome: { steps: [{ kind: "kill-pod" }] },
  });
});

test("a pod that cannot be stopped has not ended, and why and an event name the failure", async () => {
  const world = await runningWorld();
  world.executor.runtime.intercept = (method) => {
    if (method === "StopContainer") throw new RuntimeError(method, "Unknown", "the shim hangs");
  };
  await expect(terminate(world)).rejects.toThrow("error killing pod");
  expect(world.steps[0]).toMatchObject({ action: "stop container web", outcome: "failed" });
  expect(world.executor.events.at(-1)).toMatchObject({ reason: "FailedKillPod" });
  // Only the next attempt changes its status.
  expect(world.executor.table.get(world.pod.metadata.uid)?.observed?.follower).toBeUndefined();
});

test("a pod that cannot be stopped is read again, to show what of it has ended", async () => {
  const world = await runningWorld(
    testPod({ containers: [{ name: "ends" }, { name: "stays", command: ["serve", "20"] }] }),
  );
  const stays = world.executor.runtime.findContainer("stays")?.place.id;
  const stop = world.executor.runtime.stopContainer.bind(world.executor.runtime);
  world.executor.runtime.stopContainer = (id, ...rest) =>
    id === stays ? Promise.reject(new Error("the shim hangs")) : stop(id, ...rest);
  world.executor.runtime.stopPodSandbox = () => Promise.reject(new Error("the shim hangs"));
  await expect(terminate(world)).rejects.toThrow("error killing pod");
  await world.executor.clock.advance(10);
  const { containers = [] } =
    world.executor.table.get(world.pod.metadata.uid)?.observed?.state ?? {};
  expect(containers.map(({ name, state }) => `${name} ${state}`).toSorted()).toEqual([
    "ends exited",
    "stays running",
  ]);
});

test("a termination that is cancelled leaves a record of what it stopped and what it did not", async () => {
  const world = await runningWorld();
  const cancel = new AbortController();
  world.executor.runtime.intercept = (method, phase) => {
    if (method === "StopPodSandbox" && phase === "before") {
      cancel.abort(new Error("shorter grace"));
      throw new Error("cut short");
    }
  };
  await expect(terminate(world, 5, { cancel: cancel.signal })).rejects.toThrow("shorter grace");
  expect(world.newestRecord).toMatchObject({ kind: "terminating", cancelled: "shorter grace" });
  expect(world.steps).toMatchObject([
    { action: "stop container web", outcome: "done" },
    { action: "stop sandbox of uid-1", outcome: "cancelled", detail: "cancelled: shorter grace" },
  ]);
});

test("what must be back before the cluster counts on it is given back before the status says that the pod has ended", async () => {
  const world = await runningWorld();
  let problem: string | undefined = "the driver is away";
  const shown: string[] = [];
  world.stopped = async () => {
    shown.push(states(world.status));
    if (problem !== undefined) throw new Error(problem);
  };
  await expect(terminate(world)).rejects.toThrow("the driver is away");
  expect(states(world.status)).toBe("web runs");
  expect(world.newestRecord).toMatchObject({
    kind: "terminating",
    error: "cannot release the pod's cgroup: the driver is away",
  });
  problem = undefined;
  await terminate(world);
  expect(shown).toEqual(["web runs", "web ended"]);
  expect(states(world.status)).toBe("web ended");
});

test("a pod that only the runtime knows is stopped within a second, and that is recorded", async () => {
  const world = await runningWorld();
  const observed = await world.executor.read(world.pod);
  await world.executor.clock.run(syncTerminatingRuntimePod(world.endDeps, observed, signal));
  const [stop] = world.executor.runtime.calls;
  expect(stop).toMatchObject({ method: "StopContainer", timeoutSeconds: 2 });
  expect(world.steps[0]).toMatchObject({
    because: "no source wants this pod, with 1 s of grace",
    outcome: "done",
  });
});

test("a pod that has ended gives back what it held, and its status is final", async () => {
  const world = await runningWorld();
  await terminate(world);
  world.calls.length = 0;
  const observed = await world.executor.read(world.pod);
  await syncTerminatedPod(world.endDeps, { pod: world.pod, observed }, signal);
  expect(world.calls).toEqual(["release"]);
  expect(world.statuses.reported.at(-1)?.isFinished).toBe(true);
});

test("a stage that cannot be released is named in the record, and the status is not final", async () => {
  const world = await runningWorld();
  await terminate(world);
  world.releaseProblem = "device or resource busy";
  const observed = await world.executor.read(world.pod);
  const ended = syncTerminatedPod(world.endDeps, { pod: world.pod, observed }, signal);
  await expect(ended).rejects.toThrow("device or resource busy");
  expect(world.newestRecord).toMatchObject({
    kind: "terminated",
    error: "cannot release the pod's cgroup: device or resource busy",
  });
  expect(world.statuses.reported.at(-1)?.isFinished).not.toBe(true);
});
