import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import type { PodStats, Summary } from "../../src/model/stats-summary.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

const mebibyte = 2 ** 20;

describe("statistics of real pods", () => {
  let world: AgentWorld;
  let pod: Pod;

  beforeAll(async () => {
    world = await AgentWorld.start(98);
    const script = [
      // Twice the same file in the volume, once in the layer.
      "head -c 3145728 /dev/zero > /scratch/file",
      "ln /scratch/file /scratch/same",
      "head -c 2097152 /dev/zero > /layer-file",
      "head -c 8388608 /dev/zero > /memory/file",
      "echo a line in the log",
      "touch /tmp/ready",
      untilStopped,
    ].join("; ");
    const main = shell("main", script, {
      resources: { limits: { cpu: "200m", memory: "64Mi" } },
      readinessProbe: { exec: { command: ["cat", "/tmp/ready"] }, periodSeconds: 1 },
      volumeMounts: [
        { name: "scratch", mountPath: "/scratch" },
        { name: "memory", mountPath: "/memory" },
      ],
    });
    const busy = shell("busy", "while :; do :; done");
    const volumes = [
      { name: "scratch", emptyDir: {} },
      { name: "memory", emptyDir: { medium: "Memory" } },
    ];
    const spec = { containers: [main, busy], volumes, terminationGracePeriodSeconds: 1 };
    world.write("web.json", podManifest("web", spec));
    pod = await waitForPod(world.client, world.podName("web"), isReady);
  });

  afterAll(() => world.close());

  function read(): Promise<Summary> {
    return world.client.readStats(AbortSignal.timeout(60_000));
  }

  /** The pod's part, as soon as it is as wanted. */
  async function statsWhen(isReached: (stats: PodStats) => boolean): Promise<PodStats> {
    let found: PodStats | undefined;
    await expect
      .poll(
        async () => {
          const { pods } = await read();
          found = pods.find(({ podRef }) => podRef.uid === pod.metadata.uid);
          return found !== undefined && isReached(found);
        },
        { timeout: 60_000, interval: 1000 },
      )
      .toBe(true);
    if (found === undefined) throw new Error("the pod has no statistics");
    return found;
  }

  test("memory, CPU, network and processes are the pod's own", async () => {
    const stats = await statsWhen(({ cpu }) => (cpu?.usageNanoCores ?? 0) > 0);
    expect(stats.podRef).toEqual({
      name: pod.metadata.name,
      namespace: "default",
      uid: pod.metadata.uid,
    });
    expect(stats.containers.map(({ name }) => name).toSorted()).toEqual(["busy", "main"]);
    // Files in memory are memory.
    expect(stats.memory?.workingSetBytes).toBeGreaterThan(8 * mebibyte);
    const main = stats.containers.find(({ name }) => name === "main");
    expect(main?.memory?.availableBytes).toBeLessThan(56 * mebibyte);
    expect(main?.memory?.availableBytes).toBeGreaterThan(32 * mebibyte);
    const busy = stats.containers.find(({ name }) => name === "busy");
    expect(busy?.memory?.availableBytes).toBeUndefined();
    expect(busy?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
    expect(stats.network).toMatchObject({ name: "eth0" });
    expect(stats.network?.rxBytes).toBeGreaterThan(0);
    expect(stats.processStats?.processCount).toBeGreaterThanOrEqual(3);
    expect(stats.cpu?.usageCoreNanoSeconds).toBeGreaterThanOrEqual(
      busy?.cpu?.usageCoreNanoSeconds ?? Infinity,
    );
  });

  test("disk use is counted by layer, log and volume, and a file with two names once", async () => {
    const layerOf = ({ containers }: PodStats): number =>
      containers.find(({ name }) => name === "main")?.rootfs?.usedBytes ?? 0;
    const stats = await statsWhen(
      (found) => found.volumeStats !== undefined && layerOf(found) > 2 * mebibyte,
    );
    const volume = (name: string) => stats.volumeStats?.find((one) => one.name === name);
    expect(volume("scratch")?.usedBytes).toBeGreaterThanOrEqual(3 * mebibyte);
    expect(volume("scratch")?.usedBytes).toBeLessThan(4 * mebibyte);
    expect(volume("memory")?.usedBytes).toBeGreaterThanOrEqual(8 * mebibyte);
    const main = stats.containers.find(({ name }) => name === "main");
    expect(main?.rootfs?.usedBytes).toBeLessThan(4 * mebibyte);
    expect(main?.logs?.usedBytes).toBeGreaterThan(0);
    // The volume in memory is not on a disk.
    expect(stats.ephemeralStorage?.usedBytes).toBeGreaterThan(5 * mebibyte);
    expect(stats.ephemeralStorage?.usedBytes).toBeLessThan(8 * mebibyte);
  });

  test("the node has more than its pods", async () => {
    const usedBy = (pods: Awaited<ReturnType<typeof read>>["pods"]): number =>
      pods.reduce((sum, { memory }) => sum + (memory?.workingSetBytes ?? 0), 0);
    // The cgroups are not read in one moment: what pods use may have changed between two of them.
    const share = async (): Promise<number> => {
      const { node, pods } = await read();
      const all = node.systemContainers?.find(({ name }) => name === "pods");
      return (all?.memory?.workingSetBytes ?? 0) / usedBy(pods);
    };
    await expect.poll(share).toBeGreaterThanOrEqual(0.9);
    const { node, pods } = await read();
    expect(node.memory?.workingSetBytes).toBeGreaterThan(usedBy(pods));
    expect(node.memory?.availableBytes).toBeGreaterThan(0);
    expect(node.fs?.capacityBytes).toBeGreaterThan(node.fs?.usedBytes ?? Infinity);
    expect(node.runtime?.imageFs?.usedBytes).toBeGreaterThan(0);
    expect(node.rlimit?.runningProcesses).toBeGreaterThan(1);
  });

  test("berth top shows it", async () => {
    const shown = await world.berth("top", "pods", "--containers");
    expect(shown.stdout).toMatch(/^POD +NAME +CPU\(cores\) +MEMORY\(bytes\)$/m);
    expect(shown.stdout).toMatch(/^web-node +busy +\d+m +\d+Mi$/m);
    const node = await world.berth("top", "node");
    expect(node.stdout).toMatch(/^node +\d+m +\d+% +\d+Mi +\d+%$/m);
  });
});
