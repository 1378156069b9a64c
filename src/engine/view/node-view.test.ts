import { expect, test } from "vitest";
import { testPodChanges } from "../../../test/kit/pod-parts.ts";
import { testPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { testHistory } from "../../../test/kit/test-history.ts";
import { simSettings } from "../../../test/sim/sim-pod-configs.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import type { WorkerState } from "../../core/worker/worker-state.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { podUid, type RuntimeContainerId, runtimeContainerId } from "../../model/ids.ts";
import {
  type ContainerExit,
  emptyObservedPod,
  type ObservedContainer,
} from "../../model/observed.ts";
import type { PodChange } from "../../ports/agent-view.ts";
import { PodMemory } from "../pods/pod-memory.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable } from "../pods/pod-table.ts";
import { EventLog } from "./event-log.ts";
import { FlightRecorder } from "./flight-recorder.ts";
import { NodeView } from "./node-view.ts";

const pod = testPod({ containers: [{ name: "web" }] });
const { uid } = pod.metadata;
const never = new AbortController().signal;

function container(id: string, restartCount: number, state: "running" | "exited") {
  return { id: `containerd://${id}`, name: "web", restartCount, state } as ObservedContainer;
}

const capacity = { cpu: "1", memory: "1Gi", pods: "10" };
const described = { node: { metadata: { name: "node" }, status: { capacity } } };

function world() {
  const clock = new VirtualClock();
  const files = new MemoryFiles();
  const table = new PodTable();
  const registry = new PodRegistry(table);
  const changes = testPodChanges(table);
  const history = testHistory(table);
  const memory = new PodMemory({
    history,
    table,
    files,
    rootFolder: "/root",
    log: silentLog,
    recorder: new FlightRecorder(table, history),
    changes,
  });
  const events = new EventLog({ table, clock, host: "node", history, sender: undefined });
  const observed = table.writer("observed");
  const asked: string[] = [];
  let restored = 0;
  const view = new NodeView({
    history,
    resources: { holdings: () => [], describe: () => described } as never,
    storage: { awaited: () => new Map([["data", "the pod needs it"]]) },
    ports: {
      clock,
      log: silentLog,
      runtime: {
        exec: ({ containerId = "", cmd = [] }) => {
          asked.push(`exec ${containerId} ${cmd.join(" ")}`);
          return Promise.resolve({ url: "http://127.0.0.1:1/exec" });
        },
        portForward: ({ podSandboxId = "", port = [] }) => {
          asked.push(`portForward ${podSandboxId} ${port.join(" ")}`);
          return Promise.resolve({ url: "http://127.0.0.1:1/forward" });
        },
        listImages: () =>
          Promise.resolve([
            { repoTags: ["small:1"], repoDigests: ["small@sha256:1"], size: 5n },
            { repoTags: [], repoDigests: ["large@sha256:2"], size: 7n },
          ]),
      } as never,
    },
    settings: {
      identity: {
        version: "1",
        nodeName: "node",
        runtimeName: "containerd",
        runtimeVersion: "2",
        runtimeEndpoint: "unix:///run/c.sock",
      },
      runtimeSettings: simSettings,
    },
    table,
    changes,
    observer: { mode: "cri" },
    memory,
    events,
    intake: { problems: [], ignoredFiles: [], restoreAgain: () => void restored++ },
    garbage: { plan: () => Promise.resolve([]), collect: () => Promise.resolve([]) },
    stats: { summary: () => Promise.reject(new Error("no stats")) },
    health: {
      report: { problems: ["container runtime is down"], handlers: [], features: undefined },
    },
    eviction: { pressures: ["DiskPressure"] },
  });
  const setContainers = (...containers: readonly ObservedContainer[]): void => {
    const { name, namespace } = pod.metadata;
    observed.set(uid, { state: { ...emptyObservedPod(uid, name, namespace), containers } });
  };
  const setObserved = (of: {
    readonly exits: ReadonlyMap<RuntimeContainerId, ContainerExit>;
    readonly sandboxState: "ready" | "notReady";
  }): void => {
    const { state = emptyObservedPod(uid, "", "") } = observed.get(uid) ?? {};
    const sandbox = { id: "s", state: of.sandboxState, attempt: 0, createdAtMs: 0 } as const;
    const sandboxes = [{ ...sandbox, network: "pod" as const }];
    observed.set(uid, { state: { ...state, sandboxes }, exits: of.exits });
  };
  const restorations = (): number => restored;
  return {
    table,
    registry,
    changes,
    checkpoints: memory.checkpoints,
    memory,
    view,
    asked,
    setContainers,
    setObserved,
    restorations,
  };
}

test("while a pod is replaced by one of its name, the one that is wanted is found by the name", () => {
  const { registry, changes, view } = world();
  changes.noteRemoved(pod);
  expect(view.findPod("default", "web")?.metadata.uid).toBe(uid);
  const next = { ...pod, metadata: { ...pod.metadata, uid: podUid("uid-2") } };
  registry.set(next);
  changes.noteAdded(next);
  expect(view.findPod("default", "web")?.metadata.uid).toBe("uid-2");
  expect(view.listPods().map(({ metadata }) => metadata.uid)).toEqual(["uid-2", uid]);
  expect(view.findPod("default", "other")).toBeUndefined();
});

test("commands run in the container that runs now", async () => {
  const { registry, view, asked, setContainers } = world();
  registry.set(pod);
  const options = {
    container: "web",
    command: ["ls"],
    stdin: false,
    stdout: true,
    stderr: true,
    tty: false,
  };
  await expect(view.execUrl(pod, options, never)).rejects.toThrow("container web is not running");
  setContainers(container("a", 0, "running"));
  expect((await view.execUrl(pod, options, never)).href).toBe("http://127.0.0.1:1/exec");
  expect(asked).toEqual(["exec a ls"]);
});

test("ports are forwarded to the sandbox that is ready, and to no other", async () => {
  const { setObserved, view, asked } = world();
  setObserved({ exits: new Map(), sandboxState: "notReady" });
  await expect(view.portForwardUrl(pod, [80], never)).rejects.toThrow("is not running");
  setObserved({ exits: new Map(), sandboxState: "ready" });
  expect((await view.portForwardUrl(pod, [80], never)).pathname).toBe("/forward");
  expect(asked).toEqual(["portForward s 80"]);
});

test("an explanation says what a pod waits for", async () => {
  const { registry, memory, view } = world();
  await expect(view.explain(uid, never)).rejects.toThrow(`no pod has the UID ${uid}`);
  registry.set(pod);
  const web = { name: "web", image: "", imageID: "", ready: false, restartCount: 0 };
  memory.checkpoints.save(uid, {
    phase: "Running",
    containerStatuses: [{ ...web, state: { running: {} } }],
  });
  await memory.checkpoints.flush();
  memory.recorder.record({
    podUid: uid,
    pod: "default/web",
    kind: "sync",
    startedAtMs: 0,
    durationMs: 0,
    seen: [],
    steps: [],
    error: "no network",
  });
  const { workerState, awaiting } = await view.explain(uid, never);
  expect(workerState).toBe("no worker");
  expect(awaiting.map(({ what }) => what)).toEqual([
    "volume data: the pod needs it",
    "no network",
    "container web to become ready",
  ]);
});

test("an explanation says what the end of a pod waits for", async () => {
  const { table, changes, checkpoints, view, setContainers, setObserved } = world();
  const workers = table.writer("worker");
  const removals = table.writer("removal");
  changes.noteRemoved(pod);
  const web = { name: "web", image: "", imageID: "", ready: false, restartCount: 0 };
  const containerStatuses = [{ ...web, state: { running: {} } }];
  checkpoints.save(uid, { phase: "Running", containerStatuses });
  await checkpoints.flush();
  const awaited = async (): Promise<readonly string[]> => {
    const { awaiting } = await view.explain(uid, never);
    return awaiting.map(({ what }) => what).filter((what) => !what.startsWith("volume "));
  };
  const ending = {
    fullName: "web_default",
    deleted: true,
    evicted: false,
    restartRequested: false,
    started: true,
    observedRuntime: false,
  };
  const none = { waitsFor: undefined, abort: undefined, running: undefined, lastActedAtMs: 0 };
  const setWorker = (state: WorkerState): void =>
    workers.set(uid, { uid, state, arrival: 1, ...none });
  setContainers(container("a", 0, "running"), container("b", 0, "exited"));
  setWorker({ ...ending, state: "terminating", acknowledged: true, graceSeconds: 30, kills: [] });
  expect(await awaited()).toEqual(["container web to end, within the grace period of 30 s"]);
  // The event came, and the pod was not read since.
  const exit = { exitCode: 0, finishedAt: 0n };
  setObserved({ exits: new Map([[runtimeContainerId("a"), exit]]), sandboxState: "ready" });
  expect(await awaited()).toEqual(["the runtime to stop the sandbox of the pod"]);
  setObserved({ exits: new Map([[runtimeContainerId("a"), exit]]), sandboxState: "notReady" });
  expect(await awaited()).toEqual(["the runtime to show that nothing of the pod runs"]);
  setContainers(container("a", 0, "exited"), container("b", 0, "exited"));
  expect(await awaited()).toEqual(["the drivers of its claims to take them back"]);
  setWorker({ ...ending, state: "terminated" });
  expect(await awaited()).toEqual([
    "the release of what the pod held: its volumes, devices and cgroup",
  ]);
  workers.set(uid, undefined);
  removals.set(uid, { state: "running", ended: Promise.resolve() });
  expect(await awaited()).toEqual(["the removal of what the pod left"]);
  removals.set(uid, { state: "due", atMs: 5_000, error: "no space left" });
  expect((await view.explain(uid, never)).awaiting).toContainEqual({
    what: "the next try to remove what the pod left: no space left",
    untilMs: new VirtualClock().nowMs() + 5_000,
  });
});

test("ephemeral containers are kept, shown at once, and taken from the source again", async () => {
  const { registry, changes, memory, view, restorations } = world();
  registry.set(pod);
  const seen: PodChange[] = [];
  changes.watch((change) => void seen.push(change), never);
  const debug = [{ name: "debug", image: "busybox" }];
  const changed = await view.setEphemeralContainers(pod, debug);
  expect(changed.spec.ephemeralContainers).toEqual(debug);
  expect(memory.ephemeral.restore(pod).spec.ephemeralContainers).toEqual(debug);
  expect(seen.map((each) => each.pod.spec.ephemeralContainers)).toEqual([debug]);
  expect(restorations()).toBe(1);
});

test("a node without a cluster has conditions, from its runtime and what it is short of", () => {
  const { conditions = [] } = world().view.describeNode();
  expect(conditions.map(({ type, status }) => `${type}=${status}`)).toEqual([
    "MemoryPressure=False",
    "DiskPressure=True",
    "PIDPressure=False",
    "Ready=False",
  ]);
  expect(conditions.at(-1)?.message).toBe("container runtime is down");
});

test("the largest image comes first, tags before digests", async () => {
  expect(await world().view.listImages(never)).toEqual([
    { names: ["large@sha256:2"], sizeBytes: 7 },
    { names: ["small:1", "small@sha256:1"], sizeBytes: 5 },
  ]);
});
