import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { allocatedPath, PodWorld } from "../../../test/sim/pod-world.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { containerId, podUid } from "../../model/ids.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import { ResizeStatuses } from "../resources/allocation/resize-statuses.ts";
import { ResourceRecords } from "../resources/allocation/resource-records.ts";
import { PodRejection, PodSyncError } from "./pod-syncer.ts";
import { PodTable } from "./pod-table.ts";
import { lookAgainIfResized, noteResizeErrors, noteResizeProgress } from "./sync-pod.ts";

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

test("a pod that a stage rejects has failed, with the reason", async () => {
  const world = new PodWorld(pod);
  const message = "Node has reached its volume attachment limit, rejecting pod.";
  world.prepareProblem = new PodRejection("VolumeAttachmentLimitExceeded", message);
  expect(await world.sync()).toEqual({ terminal: true });
  expect(world.status).toMatchObject({
    phase: "Failed",
    reason: "VolumeAttachmentLimitExceeded",
    message: `Pod was rejected: ${message}`,
  });
  expect(world.newestRecord?.error).toBe(message);
  expect(world.takeRuntimeCalls()).toEqual([]);
  // Whatever is computed later keeps it.
  expect(await world.sync()).toEqual({ terminal: true });
  expect(world.status.reason).toBe("VolumeAttachmentLimitExceeded");
});

test("a sync that is cancelled has what it did and what it was doing in its record", async () => {
  const world = new PodWorld(pod);
  const cancel = new AbortController();
  world.executor.runtime.intercept = (method, phase) => {
    if (method === "PullImage" && phase === "before") cancel.abort(new Error("the pod is to end"));
  };
  await expect(world.sync(cancel.signal)).rejects.toThrow("the pod is to end");
  expect(world.newestRecord).toMatchObject({ kind: "sync", cancelled: "the pod is to end" });
  expect(world.newestRecord?.error).toBeUndefined();
  expect(world.steps).toMatchObject([
    { action: "create sandbox of web_default(uid-1)", outcome: "done" },
    {
      action: "start container web",
      outcome: "cancelled",
      detail: "cancelled: the pod is to end",
    },
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

test("a pod on the node's network does not wait for the network of pods", async () => {
  const world = new PodWorld(testPod({ hostNetwork: true, containers: [{ name: "web" }] }));
  world.networkProblem = "cni plugin not initialized";
  expect(await world.sync()).toEqual({ terminal: false });
  expect(world.takeRuntimeCalls()).toEqual(["RunPodSandbox", "CreateContainer", "StartContainer"]);
  expect(world.executor.events.map(({ reason }) => reason)).not.toContain("NetworkNotReady");
});

test("what a pod was granted is on disk before anything of it is started", async () => {
  const world = new PodWorld(pod);
  const { files, clock, runtime } = world.executor;
  const write = files.writeFile.bind(files);
  files.writeFile = async (...file) => {
    await clock.sleep(5_000, new AbortController().signal);
    return write(...file);
  };
  world.allocated.set(pod.metadata.uid, { containers: new Map([["web", {}]]) });
  const onDisk: boolean[] = [];
  runtime.intercept = async (method, phase) => {
    if (method !== "RunPodSandbox" || phase !== "before") return;
    onDisk.push((await files.readText(allocatedPath))?.includes(pod.metadata.uid) ?? false);
  };
  await world.sync();
  expect(onDisk).toEqual([true]);
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

test("a run-once pod that was stopped for its missing cgroup is over: it gets no other one", async () => {
  const world = new PodWorld(testPod({ restartPolicy: "Never", containers: [{ name: "web" }] }));
  await world.sync();
  world.hasCgroup = false;
  await world.sync();
  world.calls.length = 0;
  expect(await world.sync()).toEqual({ terminal: true });
  expect(world.calls).toEqual([]);
  expect(world.status.phase).toBe("Failed");
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

test("of several back-offs the first that ends decides when the pod is tried again", async () => {
  const twin = testPod({ containers: [{ name: "web" }, { name: "late", image: "missing:1" }] });
  const world = new PodWorld(twin);
  const { runtime, clock } = world.executor;
  const pull = runtime.pullImage.bind(runtime);
  runtime.pullImage = (image, ...rest) =>
    image.image === "missing:1"
      ? Promise.reject(new RuntimeError("PullImage", "NotFound", "no such image"))
      : pull(image, ...rest);
  const startMs = clock.nowMs();
  const retryAfterMs = async (): Promise<number | undefined> => {
    const error: unknown = await world.sync().catch((thrown: unknown) => thrown);
    if (!(error instanceof PodSyncError))
      throw new Error("the sync did not fail", { cause: error });
    return error.retryAtMs === undefined ? undefined : error.retryAtMs - startMs;
  };
  // The pull has failed: that has its own back-off only from the next sync on.
  expect(await retryAfterMs()).toBeUndefined();
  runtime.findContainer("web")?.end(1);
  expect(await retryAfterMs()).toBe(10_000);
  await clock.advance(3_000);
  runtime.findContainer("web")?.end(1);
  // The image until 10 s, the container until 13 s.
  expect(await retryAfterMs()).toBe(10_000);
  await clock.advance(7_000);
  expect(await retryAfterMs()).toBeUndefined();
  // The image until 30 s.
  expect(await retryAfterMs()).toBe(13_000);
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

const uid1 = podUid("uid-1");

function world() {
  const table = new PodTable();
  const events: string[] = [];
  const requested: string[] = [];
  return {
    events: { record: (_: unknown, { reason }: { reason: string }) => void events.push(reason) },
    reasons: events,
    requested,
    wakeups: { look: (uid: string) => void requested.push(uid) },
    resizes: new ResizeStatuses(table, { nowMs: () => 0 }),
    actuated: new ResourceRecords({
      slice: table.writer("actuated"),
      files: new MemoryFiles(),
      path: "/record",
      log: silentLog,
    }),
  };
}

function podWith(cpu: string): Pod {
  return testPod({ containers: [{ name: "web", resources: { requests: { cpu } } }] });
}

function seen(state: "running" | "exited"): ObservedPod {
  const container = {
    id: containerId("sim://1"),
    name: "web",
    state,
    exitCode: 0,
    image: "",
    imageId: "",
    imageRef: "",
    hash: "",
    restartCount: 0,
    reason: "",
    message: "",
  };
  return {
    uid: uid1,
    name: "web",
    namespace: "default",
    ips: [],
    containers: [container],
    sandboxes: [],
    activeContainerIds: [],
  };
}

test("a pod that an agent without records left running has what it was granted", () => {
  const deps = world();
  noteResizeProgress(deps, podWith("1"), seen("running"));
  expect(deps.resizes.podConditions(uid1)).toEqual([]);
  expect(deps.actuated.get(uid1)?.containers.get("web")?.requests).toEqual({ cpu: "1" });
});

test("a resize is in progress until the container has its resources, and then is reported as completed", () => {
  const deps = world();
  deps.actuated.setContainer(uid1, "web", { requests: { cpu: "1" } });
  const pod = podWith("2");
  noteResizeProgress(deps, pod, seen("running"));
  expect(deps.resizes.podConditions(uid1)).toMatchObject([{ type: "PodResizeInProgress" }]);
  lookAgainIfResized(deps, pod, seen("running"));
  expect(deps.requested).toEqual([]);
  deps.actuated.setContainer(uid1, "web", { requests: { cpu: "2000m" } });
  lookAgainIfResized(deps, pod, seen("running"));
  expect(deps.requested).toEqual(["uid-1"]);
  noteResizeProgress(deps, pod, seen("running"));
  expect(deps.reasons).toEqual(["ResizeCompleted"]);
  expect(deps.resizes.podConditions(uid1)).toEqual([]);
  lookAgainIfResized(deps, pod, seen("running"));
  expect(deps.requested).toEqual(["uid-1"]);
});

test("what does not run is not resized: it starts with what it was granted", () => {
  const deps = world();
  deps.actuated.setContainer(uid1, "web", { requests: { cpu: "1" } });
  noteResizeProgress(deps, podWith("2"), seen("exited"));
  expect(deps.resizes.podConditions(uid1)).toEqual([]);
});

test("an error is reported once, and again when it is another one", () => {
  const deps = world();
  const failed = (message: string) => [
    {
      kind: "resize" as const,
      target: "web",
      because: "",
      startedAtMs: 0,
      durationMs: 0,
      failure: { code: "ResizePodInPlaceError", message },
    },
  ];
  expect(noteResizeErrors(deps, podWith("2"), failed("busy"))).toBe(true);
  expect(noteResizeErrors(deps, podWith("2"), failed("busy"))).toBe(false);
  expect(noteResizeErrors(deps, podWith("2"), failed("gone"))).toBe(true);
  expect(deps.reasons).toEqual(["ResizeError", "ResizeError"]);
  expect(deps.resizes.podConditions(uid1)).toMatchObject([
    { type: "PodResizeInProgress", reason: "Error", message: "gone" },
  ]);
});
