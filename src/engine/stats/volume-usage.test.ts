import { expect, test } from "vitest";
import { VirtualClock } from "../../drivers/sim/virtual-clock.ts";
import type { Pod } from "../../model/pod.ts";
import { VolumeUsage } from "./volume-usage.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };
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
  return {
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
  };
}

class World {
  readonly clock = new VirtualClock();
  readonly end = new AbortController();
  readonly walks: string[] = [];
  pods: readonly Pod[] = [podOf("a")];
  readonly usage: VolumeUsage;

  constructor(periodMs: number) {
    this.usage = new VolumeUsage({
      host: {
        fileSystem: () => Promise.resolve(room),
        tree: (path) => {
          this.walks.push(path);
          return Promise.resolve({ usedBytes: 10, inodesUsed: 2 });
        },
      },
      clock: this.clock,
      log: silent,
      metrics: { observe() {} },
      pods: () => this.pods,
      mountedVolumes: (uid) =>
        new Map(
          ["scratch", "memory", "claim", "host"].map((name) => [name, { path: `/${uid}/${name}` }]),
        ),
      periodMs,
    });
  }
}

test("volumes are measured by their files or by their file system, and once in a period", async () => {
  const world = new World(60_000);
  const running = world.usage.run(world.end.signal);
  await world.clock.advance(55_000);
  expect(world.walks).toEqual(["/a/scratch", "/a/memory"]);
  expect(world.usage.latest("a")).toMatchObject({
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
  expect(world.usage.latest("b")).toBeDefined();
  expect(world.usage.latest("a")).toBeUndefined();
  world.end.abort();
  await running;
});

test("a period of zero measures nothing", async () => {
  const world = new World(0);
  await world.usage.run(world.end.signal);
  expect(world.walks).toEqual([]);
});
