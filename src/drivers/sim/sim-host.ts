// A simulated machine: large, idle and never short of anything.

import { ok } from "../../lib/result.ts";
import type { HookHttp } from "../../ports/hook-http.ts";
import type { FileSystemUsage, HostUsage } from "../../ports/host-usage.ts";
import type { KernelLog } from "../../ports/kernel-log.ts";
import type { LogFiles } from "../../ports/log-files.ts";
import type { MemoryGauge } from "../../ports/memory-gauge.ts";
import type { NodeFacts } from "../../ports/node-facts.ts";
import type { ShutdownService } from "../../ports/shutdown.ts";
import type { CgroupStats } from "../../ports/stats.ts";

const gibibyte = 1024 ** 3;
const memoryBytes = 64 * gibibyte;
const address = "10.0.0.1";

export function simDisk(timeMs: number): FileSystemUsage {
  return {
    timeMs,
    device: "sim",
    availableBytes: 900 * gibibyte,
    capacityBytes: 1000 * gibibyte,
    usedBytes: 100 * gibibyte,
    inodes: 10_000_000,
    inodesFree: 9_000_000,
  };
}

export function simHostUsage(nowMs: () => number): HostUsage {
  const nothing = { usedBytes: 0, inodesUsed: 0 };
  return {
    bootTimeMs: 0,
    fileSystem: () => Promise.resolve(simDisk(nowMs())),
    file: () => Promise.resolve(nothing),
    files: () => Promise.resolve(nothing),
    interfaces: () => Promise.resolve([]),
    disks: () => Promise.resolve([]),
    processes: () => Promise.resolve({ descriptors: 0, sockets: 0 }),
    tasks: () => Promise.resolve({ max: 1_000_000, running: 100 }),
  };
}

export function simCgroupStats(nowMs: () => number): CgroupStats {
  return {
    read: () =>
      Promise.resolve({
        timeMs: nowMs(),
        createdAtMs: 0,
        memory: {
          usageBytes: gibibyte,
          workingSetBytes: gibibyte,
          rssBytes: gibibyte,
          cacheBytes: 0,
          mappedFileBytes: 0,
          activeFileBytes: 0,
          inactiveFileBytes: 0,
          pageFaults: 0,
          majorPageFaults: 0,
          swapBytes: 0,
        },
      }),
  };
}

export const simMemoryGauge: MemoryGauge = { usedBytes: () => undefined };

export const simNodeFacts: NodeFacts = {
  readMachine: () => ({
    cpuCount: 64,
    memoryBytes: BigInt(memoryBytes),
    swapBytes: 0n,
    hugePages: [],
    machineId: "sim",
    systemUuid: "sim",
    bootId: "sim",
  }),
  readSystem: () => ({ kernelVersion: "sim", osImage: "sim" }),
  listIps: () => [address],
  lookUp: () => Promise.resolve([]),
  defaultIp: () => ok(address),
};

export const simKernelLog: KernelLog = {
  run: (_onMessage, signal) => whenAborted(signal),
};

export const simShutdown: ShutdownService = {
  maxDelayMs: () => Promise.resolve(0),
  extendMaxDelay: () => Promise.resolve(),
  lock: () => Promise.resolve({ release: () => undefined }),
  watch: (_onChange, signal) => whenAborted(signal),
};

/** Every server answers. */
export const simHookHttp: HookHttp = { get: () => Promise.resolve(undefined) };

/** Simulated containers write too little to rotate. */
export const simLogFiles: LogFiles = {
  list: () => Promise.resolve([]),
  sizeBytes: () => Promise.resolve(0),
  rename: () => Promise.resolve(),
  remove: () => Promise.resolve(),
  compress: () => Promise.resolve(),
};

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
