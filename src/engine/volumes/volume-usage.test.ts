import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import type { MountedVolume } from "../../core/mount/container-mounts.ts";
import type { VolumeMetrics } from "../../core/stats/volume-stats.ts";
import { podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable } from "../pods/pod-table.ts";
import { VolumeUsage } from "./volume-usage.ts";

const room = {
  timeMs: 1,
  device: "1",
  availableBytes: 600,
  capacityBytes: 1000,
  usedBytes: 300,
  inodes: 100,
  inodesFree: 90,
};

function podOf(uid: string): Pod {
  return buildPod({
    metadata: { name: uid, namespace: "ns", uid },
    spec: {
      containers: [],
      volumes: [
        { name: "scratch", emptyDir: {} },
        { name: "memory", emptyDir: { medium: "Memory" } },
        { name: "claim", persistentVolumeClaim: { claimName: "data" } },
        { name: "host", hostPath: { path: "/" } },
      ],
    },
  });
}

function mountedAt(uid: string): ReadonlyMap<string, MountedVolume> {
  const volume = {
    kind: "empty-dir",
    readOnly: false,
    managed: true,
    selinuxRelabel: false,
    selinuxLabeled: false,
  };
  const names = ["scratch", "memory", "claim", "host"];
  const mounted = names.map((name) => [name, { ...volume, path: `/${uid}/${name}` }] as const);
  return new Map(mounted);
}

class World {
  readonly clock = new VirtualClock();
  readonly end = new AbortController();
  readonly walks: string[] = [];
  /** What a walk waits for. */
  beforeAnswer: (path: string) => Promise<void> = () => Promise.resolve();
  /** What storage reports of any pod. */
  stored: Promise<ReadonlyMap<string, VolumeMetrics>> = Promise.resolve(
    new Map([["claim", { timeMs: 0, usedBytes: 300, inodesUsed: 10 }]]),
  );
  readonly table = new PodTable();
  readonly #registry = new PodRegistry(this.table);
  readonly usage: VolumeUsage;

  constructor(periodMs: number) {
    this.usage = new VolumeUsage({
      foreignFiles: {
        measure: async (path) => {
          this.walks.push(path);
          await this.beforeAnswer(path);
          return { room, use: { usedBytes: 10, inodesUsed: 2 } };
        },
      },
      clock: this.clock,
      log: silentLog,
      metrics: { observe() {} },
      table: this.table,
      volumes: { mountedVolumes: mountedAt },
      storageStats: { read: () => this.stored },
      periodMs,
    });
    this.pods = [podOf("a")];
  }

  /** Those that are wanted from now on; their volumes are mounted. */
  set pods(pods: readonly Pod[]) {
    for (const pod of this.#registry.list()) this.#registry.remove(pod);
    for (const pod of pods) this.#registry.set(pod);
  }
}

test("volumes are measured by their files or by their storage, and once in a period", async () => {
  const world = new World(60_000);
  const running = world.usage.run(world.end.signal);
  await world.clock.advance(55_000);
  expect(world.walks).toEqual(["/a/scratch", "/a/memory"]);
  expect(world.usage.latest(podUid("a"))).toMatchObject({
    ephemeral: [{ name: "scratch", usedBytes: 10, inodesUsed: 2, capacityBytes: 1000 }],
    others: [
      { name: "memory", usedBytes: 10 },
      { name: "claim", usedBytes: 300, inodesUsed: 10, pvcRef: { name: "data", namespace: "ns" } },
    ],
  });
  await world.clock.advance(10_000);
  expect(world.walks).toHaveLength(4);
  world.end.abort();
  await running;
});

test("a new pod is measured soon, and one that is gone is forgotten", async () => {
  const world = new World(60_000);
  const running = world.usage.run(world.end.signal);
  await world.clock.advance(1000);
  world.pods = [podOf("b")];
  await world.clock.advance(10_000);
  expect(world.usage.latest(podUid("b"))).toBeDefined();
  expect(world.usage.latest(podUid("a"))).toBeUndefined();
  world.end.abort();
  await running;
});

test("a period of zero measures nothing", async () => {
  const world = new World(0);
  await world.usage.run(world.end.signal);
  expect(world.walks).toEqual([]);
});

test("a pod whose volume does not answer costs its own numbers alone", async () => {
  const world = new World(60_000);
  world.pods = [podOf("a"), podOf("b")];
  world.beforeAnswer = (path) =>
    path === "/a/scratch" ? Promise.reject(new Error("does not answer")) : Promise.resolve();
  const running = world.usage.run(world.end.signal);
  await world.clock.advance(1000);
  expect(world.usage.latest(podUid("a"))?.ephemeral).toEqual([]);
  expect(world.usage.latest(podUid("b"))?.ephemeral).toHaveLength(1);
  world.end.abort();
  await running;
});

test("a pod that takes long is measured less often, and the others as usual", async () => {
  const world = new World(60_000);
  world.pods = [podOf("slow"), podOf("quick")];
  world.beforeAnswer = async (path) => {
    if (path === "/slow/scratch") await world.clock.sleep(30_000, world.end.signal);
  };
  const running = world.usage.run(world.end.signal);
  await world.clock.advance(590_000);
  const looksAt = (path: string): number => world.walks.filter((walk) => walk === path).length;
  expect(looksAt("/slow/scratch")).toBe(1);
  expect(looksAt("/quick/scratch")).toBe(10);
  await world.clock.advance(30_000);
  expect(looksAt("/slow/scratch")).toBe(2);
  world.end.abort();
  await running;
});

test("storage that does not answer delays no pod that does not use it", async () => {
  const world = new World(60_000);
  world.pods = ["a", "b", "c"].map(podOf);
  const [answered, hung] = [world.stored, new Promise<never>(() => undefined)];
  world.stored = hung;
  void world.usage.run(world.end.signal);
  await world.clock.advance(1000);
  world.stored = answered;
  world.pods = ["a", "b", "c", "d"].map(podOf);
  await world.clock.advance(10_000);
  expect(world.usage.latest(podUid("a"))).toBeUndefined();
  expect(world.usage.latest(podUid("d"))?.others).toHaveLength(2);
  world.end.abort();
});

test("pods of different age are measured together", async () => {
  const world = new World(60_000);
  const running = world.usage.run(world.end.signal);
  await world.clock.advance(25_000);
  world.pods = [podOf("a"), podOf("b")];
  await world.clock.advance(34_000);
  expect(world.walks).toHaveLength(4);
  await world.clock.advance(2000);
  expect(world.walks.slice(4).toSorted()).toEqual([
    "/a/memory",
    "/a/scratch",
    "/b/memory",
    "/b/scratch",
  ]);
  world.end.abort();
  await running;
});
