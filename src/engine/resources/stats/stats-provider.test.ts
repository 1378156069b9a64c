import { expect, test } from "vitest";
import { loudFaults } from "../../../../test/kit/loud-faults.ts";
import { VirtualClock } from "../../../../test/sim/virtual-clock.ts";
import { encodeSummary } from "../../../core/stats/encode-summary.ts";
import { ContainerState, PodSandboxState } from "../../../model/generated/cri.ts";
import { podUid } from "../../../model/ids.ts";
import type { HostUsage } from "../../../ports/host-usage.ts";
import type { CgroupStats } from "../../../ports/stats.ts";
import { CgroupSamples } from "./cgroup-samples.ts";
import { NodeStatsProvider } from "./stats-provider.ts";

const signal = new AbortController().signal;
const room = {
  device: "1",
  availableBytes: 600,
  capacityBytes: 1000,
  usedBytes: 300,
  inodes: 100,
  inodesFree: 90,
};

const detail = {
  userNanoSeconds: 0,
  systemNanoSeconds: 0,
  periods: 0,
  throttledPeriods: 0,
  throttledNanoSeconds: 0,
  burstPeriods: 0,
  burstNanoSeconds: 0,
  threads: 3,
  io: [],
};

class World {
  readonly clock = new VirtualClock();
  readonly reads: string[] = [];
  readonly calls: string[] = [];
  /** Every cgroup uses half a core. */
  readonly stats: CgroupStats = {
    read: (path, withDetail) => {
      this.reads.push(path);
      const elapsedMs = this.clock.monotonicMs();
      return Promise.resolve({
        timeMs: this.clock.nowMs(),
        createdAtMs: 1,
        cpu: { usageCoreNanoSeconds: 1_000_000_000 + elapsedMs * 500_000 },
        memory: {
          usageBytes: 2000,
          workingSetBytes: 1500,
          rssBytes: 1,
          cacheBytes: 2,
          mappedFileBytes: 3,
          activeFileBytes: 4,
          inactiveFileBytes: 500,
          pageFaults: 6,
          majorPageFaults: 7,
          swapBytes: 0,
          ...(path === "/" ? { limitBytes: 8000 } : {}),
        },
        processes: 2,
        ...(withDetail ? { detail } : {}),
      });
    },
  };
  readonly host: HostUsage = {
    bootTimeMs: 1000,
    fileSystem: () => Promise.resolve({ timeMs: this.clock.nowMs(), ...room }),
    file: () => Promise.resolve({ usedBytes: 10, inodesUsed: 1 }),
    files: () => Promise.resolve({ usedBytes: 20, inodesUsed: 1 }),
    interfaces: (pid) => {
      this.calls.push(`interfaces ${pid}`);
      const name = pid === undefined ? "ens3" : "eth0";
      const none = {
        rxPackets: 0,
        rxErrors: 0,
        rxDropped: 0,
        txPackets: 0,
        txErrors: 0,
        txDropped: 0,
      };
      return Promise.resolve([{ name, rxBytes: 5, txBytes: 6, ...none }]);
    },
    disks: () => Promise.resolve([]),
    processes: () => Promise.resolve({ descriptors: 1, sockets: 0 }),
    tasks: () => Promise.resolve({ max: 32_768, running: 99 }),
  };
  readonly provider = new NodeStatsProvider({
    faults: loudFaults,
    runtime: {
      listContainers: () =>
        Promise.resolve([
          {
            id: "c1",
            podSandboxId: "s1",
            metadata: { name: "main" },
            state: ContainerState.CONTAINER_RUNNING,
            createdAt: 2_000_000_000n,
            image: { image: "sha256:1", userSpecifiedImage: "busybox" },
          },
          {
            id: "c0",
            podSandboxId: "s1",
            metadata: { name: "init" },
            state: ContainerState.CONTAINER_EXITED,
          },
        ]),
      listPodSandboxes: () =>
        Promise.resolve([
          {
            id: "s1",
            metadata: { name: "web", namespace: "default", uid: "u1" },
            state: PodSandboxState.SANDBOX_READY,
            createdAt: 1_000_000_000n,
          },
        ]),
      listContainerStats: () => {
        this.calls.push("listContainerStats");
        const usedBytes = { value: 30n };
        const fsId = { mountpoint: "/images" };
        return Promise.resolve([{ attributes: { id: "c1" }, writableLayer: { fsId, usedBytes } }]);
      },
      imageFsInfo: () =>
        Promise.resolve({
          imageFilesystems: [{ fsId: { mountpoint: "/images" }, usedBytes: { value: 40n } }],
        }),
    },
    hostCgroups: { listChildren: () => ["s1", "c1"], listPids: () => [4242] },
    cgroups: {
      podPaths: () => new Map([[podUid("u1"), "/kubepods/podu1"]]),
      classPaths: ["/kubepods/burstable"],
      rootPath: "/kubepods",
    },
    samples: new CgroupSamples(this.stats, this.clock),
    hostUsage: this.host,
    clock: this.clock,
    node: {
      nodeName: "node-a",
      rootFolder: "/root",
      podLogsRoot: "/logs",
      systemCgroups: {},
      agentStartedAtMs: 0,
    },
    volumeUsage: {
      latest: () => ({
        ephemeral: [{ name: "scratch", timeMs: 1, usedBytes: 100, inodesUsed: 2 }],
        others: [{ name: "keys", timeMs: 1, usedBytes: 7 }],
      }),
    },
  });
}

test("the summary reports node, pod and container", async () => {
  const world = new World();
  const { node, pods } = await world.provider.summary({}, signal);
  expect(node).toMatchObject({
    nodeName: "node-a",
    startTimeMs: 1000,
    memory: { availableBytes: 6500, workingSetBytes: 1500 },
    fs: { usedBytes: 300, availableBytes: 600, inodesUsed: 10 },
    runtime: { imageFs: { usedBytes: 40, capacityBytes: 1000 } },
    network: { name: "", interfaces: [{ name: "ens3" }] },
    rlimit: { maxPid: 32_768, runningProcesses: 99 },
    systemContainers: [{ name: "pods", startTimeMs: 1 }],
  });
  expect(pods).toMatchObject([
    {
      podRef: { name: "web", namespace: "default", uid: "u1" },
      startTimeMs: 1000,
      containers: [
        {
          name: "main",
          startTimeMs: 2000,
          memory: { workingSetBytes: 1500, availableBytes: undefined },
          rootfs: { usedBytes: 30 },
          logs: { usedBytes: 20 },
        },
      ],
      network: { name: "eth0", rxBytes: 5 },
      volumeStats: [{ name: "scratch" }, { name: "keys" }],
      // The layer, the container's logs, the volume on disk, the pod's own log files, its hosts file and termination messages.
      ephemeralStorage: { usedBytes: 30 + 20 + 100 + 20 + 10 + 20 },
      processStats: { processCount: 2 },
    },
  ]);
  expect(world.calls).toContain("interfaces 4242");
});

test("every cgroup is read once in a period for all callers, and its rate is known from the second reading", async () => {
  const world = new World();
  await world.provider.measuredCgroups(signal);
  await world.provider.summary({}, signal);
  const first = world.reads.length;
  expect(new Set(world.reads).size).toBe(first);
  await world.provider.summary({}, signal);
  expect(world.reads).toHaveLength(first);
  await world.clock.advance(10_000);
  const { node, pods } = await world.provider.summary({}, signal);
  expect(node.cpu?.usageNanoCores).toBe(500_000_000);
  expect(pods[0]?.containers[0]?.cpu?.usageNanoCores).toBe(500_000_000);
});

test("a fresh summary reads the node again, and the pods as a whole", async () => {
  const world = new World();
  await world.provider.summary({}, signal);
  world.reads.length = 0;
  await world.provider.summary({ isFresh: true }, signal);
  expect(world.reads.toSorted()).toEqual(["/", "/kubepods"]);
});

test("CPU and memory alone need no word of the runtime's about layers", async () => {
  const world = new World();
  const summary = await world.provider.summary({ cpuAndMemoryOnly: true }, signal);
  expect(world.calls).toEqual([]);
  expect(JSON.stringify(encodeSummary(summary))).not.toMatch(/network|rootfs|volume|"io"/);
});

test("the wire has whole seconds and the names of the kubelet's API", async () => {
  const world = new World();
  const text = JSON.stringify(encodeSummary(await world.provider.summary({}, signal)));
  expect(text).toContain('"startTime":"1970-01-01T00:00:01Z"');
  expect(text).toContain('"ephemeral-storage":{"time":"2026-01-01T00:00:00Z"');
  expect(text).toContain('"process_stats":{"process_count":2}');
  expect(text).toContain('"maxpid":32768,"curproc":99');
});

test("the pages of metrics know whose every cgroup is", async () => {
  const cgroups = await new World().provider.measuredCgroups(signal);
  expect(cgroups.map(({ id, pod, container, image }) => [id, pod, container, image])).toEqual([
    ["/", "", "", ""],
    ["/kubepods", "", "", ""],
    ["/kubepods/burstable", "", "", ""],
    ["/kubepods/podu1", "web", "", ""],
    ["/kubepods/podu1/s1", "web", "", ""],
    ["/kubepods/podu1/c1", "web", "main", "busybox"],
  ]);
});

test("details are read where they are shown, and go on being read with the rest", async () => {
  const world = new World();
  await world.provider.summary({}, signal);
  const [before] = await world.provider.measuredCgroups(signal);
  expect(before?.usage.detail).toBeDefined();
  await world.clock.advance(30_000);
  await world.provider.summary({}, signal);
  world.reads.length = 0;
  const [again] = await world.provider.measuredCgroups(signal);
  expect(again?.usage.detail).toBeDefined();
  // Those of the summary are there; only what it does not need is read now.
  expect(world.reads.toSorted()).toEqual(["/kubepods/burstable", "/kubepods/podu1/s1"]);
});
