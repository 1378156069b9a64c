import { expect, test } from "vitest";
import { noMetrics } from "../../../../test/kit/no-metrics.ts";
import { testPod } from "../../../../test/kit/pods.ts";
import { silentLog } from "../../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../../test/sim/virtual-clock.ts";
import { parseThresholds } from "../../../core/eviction/parse-thresholds.ts";
import type { NodeEvent } from "../../../core/node/node-event.ts";
import { isCriticalPod } from "../../../core/resource/critical.ts";
import { killedStatus } from "../../../core/status/killed-status.ts";
import type { KillPodOptions } from "../../../core/worker/pod-update.ts";
import type { PodSpec, PodStatus } from "../../../model/generated/kubernetes.ts";
import type { Pod } from "../../../model/pod.ts";
import type { MemoryStats, PodStats, Summary } from "../../../model/stats-summary.ts";
import type { PodEvent } from "../../../ports/pod-events.ts";
import { EvictionManager } from "./eviction-manager.ts";

const mebibyte = 2 ** 20;
const capacityBytes = 1000 * mebibyte;

function podNamed(name: string, spec: Partial<PodSpec> = {}): Pod {
  return testPod({ containers: [{ name: "main" }], ...spec }, { name, uid: name });
}

/** A machine whose memory and disks are numbers, and the manager that looks after it. */
class World {
  readonly clock = new VirtualClock();
  readonly nodeEvents: NodeEvent[] = [];
  readonly podEvents: PodEvent[] = [];
  readonly killed: { readonly name: string; readonly atMs: number; readonly status: PodStatus }[] =
    [];
  readonly reclaimed: string[] = [];
  readonly stop = new AbortController();
  pods: Pod[] = [];
  usedBytes: Record<string, number> = {};
  diskBytes: Record<string, number> = {};
  imageBytes = 0;
  readonly manager: EvictionManager;

  constructor(evictionHard: Readonly<Record<string, string>>, transitionMs = 30_000) {
    const parsed = parseThresholds({
      evictionHard,
      evictionSoft: {},
      evictionSoftGracePeriod: {},
      evictionMinimumReclaim: {},
      enforceNodeAllocatable: [],
    });
    if (!parsed.ok) throw new Error(parsed.error);
    const { clock } = this;
    const memoryGauge = { usedBytes: () => this.#used() };
    this.manager = new EvictionManager(
      {
        stats: { summary: () => Promise.resolve(this.#summary()) },
        disks: {
          layout: () => Promise.resolve({ dedicatedImageFs: false, splitContainerFs: false }),
        },
        active: { listGranted: () => this.pods },
        workers: { killPod: (pod, kill) => this.#kill(pod, kill) },
        states: {
          shouldPodBeFinished: (uid) => !this.pods.some(({ metadata }) => metadata.uid === uid),
        },
        garbage: { reclaim: (what) => this.#reclaim(what) },
        cgroups: { rootPath: "/kubepods" },
        events: { record: (_, event) => void this.podEvents.push(event) },
        nodeEvents: { recordNode: (event) => void this.nodeEvents.push(event) },
        ports: { metrics: noMetrics, clock, log: silentLog, memoryGauge },
      },
      parsed.value,
      {
        pressureTransitionMs: transitionMs,
        maxPodGraceSeconds: 0,
        localStorageIsolation: true,
        isSpared: isCriticalPod,
      },
    );
  }

  async run(ms: number): Promise<void> {
    const running = this.manager.run(this.stop.signal);
    await this.clock.advance(ms);
    this.stop.abort();
    await running;
  }

  #used(): number {
    return this.pods.reduce((sum, { metadata }) => sum + (this.usedBytes[metadata.uid] ?? 0), 0);
  }

  #summary(): Summary {
    const timeMs = this.clock.nowMs();
    const used = this.#used();
    const fs = {
      timeMs,
      capacityBytes,
      availableBytes: capacityBytes - this.imageBytes,
    };
    const memory = memoryStats(timeMs, used, capacityBytes - used);
    return {
      node: { nodeName: "n", startTimeMs: 0, memory, fs, runtime: { imageFs: fs } },
      pods: this.pods.map(({ metadata }): PodStats => {
        const { name, namespace, uid } = metadata;
        const usedBytes = this.diskBytes[uid] ?? 0;
        return {
          podRef: { name, namespace, uid },
          startTimeMs: 0,
          containers: [],
          memory: memoryStats(timeMs, this.usedBytes[uid] ?? 0),
          volumeStats: [{ name: "scratch", timeMs, usedBytes }],
        };
      }),
    };
  }

  #kill(pod: Pod, { reason }: KillPodOptions): Promise<void> {
    const status = reason === undefined ? {} : killedStatus({ phase: "Running" }, reason);
    this.killed.push({ name: pod.metadata.name, atMs: this.clock.monotonicMs(), status });
    this.pods = this.pods.filter((other) => other !== pod);
    return Promise.resolve();
  }

  #reclaim(what: string): Promise<void> {
    this.reclaimed.push(what);
    if (what === "images") this.imageBytes = 0;
    return Promise.resolve();
  }
}

function memoryStats(
  timeMs: number,
  workingSetBytes: number,
  availableBytes?: number,
): MemoryStats {
  return { timeMs, workingSetBytes, usageBytes: workingSetBytes, availableBytes };
}

test("memory that runs short between two looks costs a pod within a second", async () => {
  const world = new World({ "memory.available": "100Mi" });
  world.pods = [podNamed("calm"), podNamed("hog")];
  world.usedBytes = { calm: 100 * mebibyte, hog: 100 * mebibyte };
  const running = world.manager.run(world.stop.signal);
  await world.clock.advance(3_000);
  expect(world.killed).toEqual([]);
  world.usedBytes["hog"] = 850 * mebibyte;
  await world.clock.advance(1_000);
  expect(world.killed).toMatchObject([
    {
      name: "hog",
      status: {
        phase: "Failed",
        reason: "Evicted",
        message:
          "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ",
        conditions: [{ type: "DisruptionTarget", reason: "TerminationByKubelet" }],
      },
    },
  ]);
  expect(world.nodeEvents).toMatchObject([
    { reason: "EvictionThresholdMet", message: "Attempting to reclaim memory" },
  ]);
  expect(world.podEvents).toMatchObject([
    { reason: "Evicted", annotations: { starved_resource: "memory" } },
  ]);
  world.stop.abort();
  await running;
});

test("pods go one after the other until the node has enough", async () => {
  const world = new World({ "memory.available": "600Mi" });
  const important = podNamed("important", { priority: 10 });
  world.pods = [important, podNamed("small"), podNamed("large")];
  world.usedBytes = { important: 300 * mebibyte, small: 100 * mebibyte, large: 300 * mebibyte };
  await world.run(60_000);
  expect(world.killed.map(({ name }) => name)).toEqual(["large"]);
  expect(world.pods.map(({ metadata }) => metadata.name)).toEqual(["important", "small"]);
});

test("static pods stay, however short the node is", async () => {
  const world = new World({ "memory.available": "500Mi" });
  const pod = podNamed("static");
  const annotations = { "kubernetes.io/config.source": "file" };
  world.pods = [{ ...pod, metadata: { ...pod.metadata, annotations } }];
  world.usedBytes = { static: 900 * mebibyte };
  await world.run(60_000);
  expect(world.killed).toEqual([]);
});

test("a full disk is relieved of images before any pod goes", async () => {
  const world = new World({ "nodefs.available": "10%" });
  world.pods = [podNamed("web")];
  world.imageBytes = 950 * mebibyte;
  await world.run(30_000);
  expect(world.reclaimed).toEqual(["containers", "images"]);
  expect(world.killed).toEqual([]);
});

test("a volume over its limit costs its pod, and is not a disruption", async () => {
  const world = new World({});
  world.pods = [
    podNamed("web", { volumes: [{ name: "scratch", emptyDir: { sizeLimit: "1Mi" } }] }),
  ];
  world.diskBytes = { web: 2 * mebibyte };
  await world.run(1_000);
  const message = 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ';
  expect(world.killed.map(({ status }) => status)).toEqual([
    { phase: "Failed", reason: "Evicted", message },
  ]);
});

test("a node under memory pressure takes no pod that asks for nothing, until the pressure has been over for a while", async () => {
  const world = new World({ "memory.available": "500Mi" }, 60_000);
  const bestEffort = podNamed("late");
  const burstable = podNamed("sized", {
    containers: [{ name: "main", resources: { requests: { memory: "1Mi" } } }],
  });
  world.pods = [podNamed("hog")];
  world.usedBytes = { hog: 600 * mebibyte };
  const running = world.manager.run(world.stop.signal);
  await world.clock.advance(5_000);
  expect(world.manager.pressures).toEqual(["MemoryPressure"]);
  expect(world.manager.admit(bestEffort)).toEqual({
    admit: false,
    reason: "Evicted",
    message: "The node had condition: [MemoryPressure]. ",
  });
  expect(world.manager.admit(burstable)).toEqual({ admit: true });
  await world.clock.advance(90_000);
  expect(world.manager.pressures).toEqual([]);
  expect(world.manager.admit(bestEffort)).toEqual({ admit: true });
  world.stop.abort();
  await running;
});
