import { expect, test } from "vitest";
import type { CgroupUsage } from "../../model/cgroup-usage.ts";
import { PodSandboxState } from "../../model/generated/cri.ts";
import { nanoCoresBetween, statsOfSample } from "./cgroup-sample.ts";
import { containerIdOfCgroup, countedSandboxes } from "./counted-containers.ts";
import { ephemeralStorage, isFileVolume, isLocalEphemeralVolume } from "./disk-stats.ts";
import { networkStats } from "./network-stats.ts";
import { sumOfContainers } from "./sum-containers.ts";

function usageAt(timeMs: number, usageCoreNanoSeconds: number): CgroupUsage {
  const cpu = { usageCoreNanoSeconds };
  return { timeMs, createdAtMs: 0, cpu };
}

test("half a core in use is half a billion", () => {
  expect(nanoCoresBetween(usageAt(0, 0), usageAt(10_000, 5_000_000_000))).toBe(500_000_000);
});

test.each([
  { why: "there is no earlier reading", earlier: undefined, later: usageAt(1, 1) },
  { why: "no time passed", earlier: usageAt(1, 1), later: usageAt(1, 2) },
  { why: "the counter started again", earlier: usageAt(1, 9), later: usageAt(2, 1) },
])("no rate is known when $why", ({ earlier, later }) => {
  expect(nanoCoresBetween(earlier, later)).toBe(0);
});

test("without a limit nothing is said to be available", () => {
  const memory = {
    usageBytes: 10,
    workingSetBytes: 8,
    rssBytes: 1,
    cacheBytes: 1,
    mappedFileBytes: 0,
    activeFileBytes: 0,
    inactiveFileBytes: 2,
    pageFaults: 0,
    majorPageFaults: 0,
    swapBytes: 0,
  };
  const stats = statsOfSample({ usage: { ...usageAt(1, 1), memory }, usageNanoCores: 3 }, false);
  expect(stats.memory).toMatchObject({ usageBytes: 10, availableBytes: undefined });
  expect(stats).not.toHaveProperty("io");
  const limited = { ...memory, limitBytes: 100 };
  const more = statsOfSample(
    { usage: { ...usageAt(1, 1), memory: limited }, usageNanoCores: 3 },
    true,
  );
  expect(more.memory?.availableBytes).toBe(92);
  expect(more.io?.psi?.some.total).toBe(0);
});

test("of sandboxes with one pod name the ready one counts, else the newest", () => {
  const sandbox = (id: string, createdAt: bigint, isReady: boolean) => ({
    id,
    createdAt,
    metadata: { name: "web", namespace: "default", uid: id, attempt: 0 },
    state: isReady ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY,
  });
  const ids = (...sandboxes: ReturnType<typeof sandbox>[]) =>
    countedSandboxes(sandboxes).map(({ id }) => id);
  expect(ids(sandbox("b", 2n, false), sandbox("a", 1n, true))).toEqual(["a"]);
  expect(ids(sandbox("b", 2n, false), sandbox("a", 1n, false))).toEqual(["b"]);
});

test("a container's id is read from the names that both cgroup drivers use", () => {
  expect(containerIdOfCgroup("0123abcd")).toBe("0123abcd");
  expect(containerIdOfCgroup("cri-containerd-0123abcd.scope")).toBe("0123abcd");
});

test("ephemeral storage adds layers, logs, volumes and the pod's own files", () => {
  const room = { timeMs: 1, availableBytes: 50, capacityBytes: 100, inodesFree: 5, inodes: 10 };
  const use = (usedBytes: number) => ({ timeMs: 2, usedBytes, inodesUsed: 1 });
  expect(
    ephemeralStorage(
      room,
      [{ rootfs: use(1), logs: use(2) }, { logs: use(100) }],
      [use(4), undefined],
    ),
  ).toEqual({ ...room, timeMs: 2, usedBytes: 7, inodesUsed: 3 });
});

test("a volume in memory takes nothing of the disk", () => {
  expect(isLocalEphemeralVolume({ name: "v", emptyDir: {} })).toBe(true);
  expect(isLocalEphemeralVolume({ name: "v", emptyDir: { medium: "Memory" } })).toBe(false);
  expect(isLocalEphemeralVolume({ name: "v", configMap: {} })).toBe(true);
  expect(isLocalEphemeralVolume({ name: "v", secret: {} })).toBe(false);
  expect(isFileVolume({ name: "v", hostPath: { path: "/" } })).toBe(false);
});

test("the counters of eth0 stand in front", () => {
  const one = { rxBytes: 1, rxErrors: 0, txBytes: 2, txErrors: 0 };
  const stats = networkStats(
    [
      { name: "tun0", ...one },
      { name: "eth0", ...one, rxBytes: 9 },
    ],
    5,
  );
  expect(stats).toMatchObject({ timeMs: 5, name: "eth0", rxBytes: 9 });
  expect(stats.interfaces).toHaveLength(2);
  expect(networkStats([{ name: "tun0", ...one }], 5)).toMatchObject({ name: "" });
});

test("a pod without a cgroup uses what its containers use", () => {
  const cpu = { timeMs: 1, usageCoreNanoSeconds: 10, usageNanoCores: 1 };
  const summed = sumOfContainers([
    { name: "a", startTimeMs: 0, cpu },
    { name: "b", startTimeMs: 0, cpu: { ...cpu, timeMs: 2 }, memory: { timeMs: 2, usageBytes: 4 } },
  ]);
  expect(summed.cpu).toMatchObject({ timeMs: 2, usageCoreNanoSeconds: 20, usageNanoCores: 2 });
  expect(summed.memory).toMatchObject({ usageBytes: 4 });
  expect(summed.swap).toBeUndefined();
});
