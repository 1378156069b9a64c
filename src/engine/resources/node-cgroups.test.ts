import { expect, test } from "vitest";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { podsRootResources, reservedCgroups } from "../../core/resource/node-cgroups.ts";
import type { CgroupResources } from "../../model/cgroup.ts";
import { NodeCgroups } from "./node-cgroups.ts";

const settings = {
  kubeReserved: { cpu: "500m", memory: "100", pid: "10" },
  systemReserved: { cpu: "1", memory: "200" },
  kubeReservedCgroup: "/kube",
  systemReservedCgroup: "/system",
  enforced: ["pods", "system-reserved", "kube-reserved-compressible"],
};

test("pods have what is left of the machine, where that is enforced", () => {
  const capacity = { cpu: "4", memory: "1000", "hugepages-2Mi": "4Mi" };
  expect(podsRootResources(capacity, 100, settings)).toEqual({
    cpuShares: 2560,
    memoryBytes: 700n,
    pidsLimit: 90,
    hugePageLimits: new Map([[2_097_152n, 4_194_304n]]),
  });
  expect(podsRootResources(capacity, undefined, { ...settings, enforced: [] })).toMatchObject({
    cpuShares: 4096,
    memoryBytes: 1000n,
  });
});

class World {
  readonly clock = new VirtualClock();
  readonly end = new AbortController();
  readonly events: string[] = [];
  readonly updates: [string, CgroupResources][] = [];
  existing = ["/kube", "/system"];
  refusals = 0;
  shared = 0;
  readonly cgroups = new NodeCgroups({
    cgroups: {
      rootPath: "/kubepods",
      ensureShared: () => {
        this.shared += 1;
        return Promise.resolve();
      },
      enforceRoot: async () => {
        if (this.refusals === 0) return;
        this.refusals -= 1;
        throw new Error("device or resource busy");
      },
    },
    reserved: reservedCgroups(settings),
    cgroupsAt: () => ({
      exists: (path) => this.existing.includes(path),
      update: async (path, resources) => void this.updates.push([path, resources]),
    }),
    nodeEvents: {
      recordNode: ({ type, reason, message }) =>
        void this.events.push(`${type} ${reason}: ${message}`),
    },
    hostCgroups: { version: 1 },
    metrics: { set() {} },
    clock: this.clock,
    log: silentLog,
  });
}

test("the system's cgroups are held to what is reserved for them", async () => {
  const world = new World();
  await world.cgroups.start();
  expect(world.updates).toEqual([
    ["/system", { cpuShares: 1024, memoryBytes: 200n, hugePageLimits: new Map() }],
    ["/kube", { cpuShares: 512 }],
  ]);
  expect(world.events).toEqual([
    "Normal NodeAllocatableEnforced: Updated limits on system reserved cgroup /system",
    "Normal NodeAllocatableEnforced: Updated limits on kube reserved cgroup /kube",
  ]);
});

test("with MemoryQoS memory that is reserved is also kept", () => {
  const kept = reservedCgroups({ ...settings, keepsMemory: true });
  expect(kept.map(({ resources }) => resources.unified)).toEqual([
    { "memory.min": "200" },
    undefined,
  ]);
});

test("a cgroup that is not there ends the start with a message that names it", async () => {
  const world = new World();
  world.existing = ["/kube"];
  const message =
    'Failed to enforce System Reserved Cgroup Limits on "/system": cgroup /system does not exist';
  await expect(world.cgroups.start()).rejects.toThrow(message);
  expect(world.events).toEqual([`Warning FailedNodeAllocatableEnforcement: ${message}`]);
});

test("a limit that does not fit yet is tried again every minute, and reported once", async () => {
  const world = new World();
  world.refusals = 2;
  const running = world.cgroups.run(world.end.signal);
  await world.clock.advance(300_000);
  const failed =
    'Warning FailedNodeAllocatableEnforcement: Failed to update Node Allocatable Limits ["kubepods"]: device or resource busy';
  expect(world.events).toEqual([
    failed,
    failed,
    "Normal NodeAllocatableEnforced: Updated Node Allocatable limit across pods",
  ]);
  expect(world.shared).toBe(6);
  world.end.abort();
  await running;
});
