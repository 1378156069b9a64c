import { existsSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { CgroupCpuUsage, CgroupMemoryUsage, CgroupUsage } from "../../model/cgroup-usage.ts";
import type { CgroupStats } from "../../ports/stats.ts";
import {
  createdAtMs,
  parseIoStat,
  readLimit,
  readMemInfo,
  readNumber,
  readPids,
  readPressure,
  readTable,
  readText,
} from "./cgroup-stat-files.ts";
import { weightToShares } from "./cgroups-v2.ts";
import { DeviceNames } from "./device-names.ts";

/** What cgroups of the unified hierarchy use. */
export class CgroupStatsV2 implements CgroupStats {
  readonly #mountPoint: string;
  readonly #procFolder: string;
  readonly #devices = new DeviceNames();

  constructor(mountPoint: string, procFolder = "/proc") {
    this.#mountPoint = mountPoint;
    this.#procFolder = procFolder;
  }

  async read(path: string): Promise<CgroupUsage | undefined> {
    // Hundreds of small reads in a row must not keep the agent from answering.
    await setImmediate();
    const folder = join(this.#mountPoint, path);
    const created = createdAtMs(folder, "cgroup.events");
    if (created === undefined || !existsSync(folder)) return undefined;
    const isRoot = path === "/";
    return {
      timeMs: Date.now(),
      createdAtMs: created,
      cpu: { ...readCpu(folder), psi: readPressure(folder, "cpu.pressure") },
      memory: {
        ...(isRoot ? this.#machineMemory(folder) : readMemory(folder)),
        psi: readPressure(folder, "memory.pressure"),
      },
      pids: readPids(folder, folder),
      io: parseIoStat(readText(folder, "io.stat") ?? "").map((io) => ({
        ...io,
        device: this.#devices.nameOf(io.device),
      })),
      ioPsi: readPressure(folder, "io.pressure"),
    };
  }

  /** The root has no files for what is used and allowed: that is the machine's own. */
  #machineMemory(folder: string): CgroupMemoryUsage {
    const machine = readMemInfo(this.#procFolder);
    const read = readMemory(folder);
    const swapLimitBytes = machine.get("SwapTotal") ?? 0;
    const usageBytes = read.rssBytes + read.cacheBytes;
    return {
      ...read,
      usageBytes,
      workingSetBytes: Math.max(usageBytes - read.inactiveFileBytes, 0),
      swapBytes: swapLimitBytes - (machine.get("SwapFree") ?? 0),
      limitBytes: machine.get("MemTotal"),
      swapLimitBytes,
    };
  }
}

function readCpu(folder: string): CgroupCpuUsage {
  const stat = readTable(folder, "cpu.stat");
  const nanosOf = (name: string) => (stat?.get(name) ?? 0) * 1000;
  const [quota, period] = readText(folder, "cpu.max")?.trim().split(" ") ?? [];
  const weight = readNumber(folder, "cpu.weight");
  return {
    usageCoreNanoSeconds: nanosOf("usage_usec"),
    userNanoSeconds: nanosOf("user_usec"),
    systemNanoSeconds: nanosOf("system_usec"),
    periods: stat?.get("nr_periods") ?? 0,
    throttledPeriods: stat?.get("nr_throttled") ?? 0,
    throttledNanoSeconds: nanosOf("throttled_usec"),
    burstPeriods: stat?.get("nr_bursts") ?? 0,
    burstNanoSeconds: nanosOf("burst_usec"),
    shares: weight === undefined ? undefined : weightToShares(weight),
    quotaUs: quota === undefined || quota === "max" ? undefined : Number(quota),
    periodUs: period === undefined ? undefined : Number(period),
  };
}

function readMemory(folder: string): CgroupMemoryUsage {
  const stat = readTable(folder, "memory.stat");
  const events = readTable(folder, "memory.events");
  const valueOf = (name: string) => stat?.get(name) ?? 0;
  const usageBytes = readNumber(folder, "memory.current") ?? 0;
  const inactiveFileBytes = valueOf("inactive_file");
  return {
    usageBytes,
    maxUsageBytes: readNumber(folder, "memory.peak"),
    workingSetBytes: Math.max(usageBytes - inactiveFileBytes, 0),
    rssBytes: valueOf("anon"),
    cacheBytes: valueOf("file"),
    mappedFileBytes: valueOf("file_mapped"),
    kernelBytes: stat?.get("kernel"),
    activeFileBytes: valueOf("active_file"),
    inactiveFileBytes,
    pageFaults: valueOf("pgfault"),
    majorPageFaults: valueOf("pgmajfault"),
    swapBytes: readNumber(folder, "memory.swap.current") ?? 0,
    failCount: events?.get("max"),
    oomKills: events?.get("oom_kill"),
    limitBytes: readLimit(folder, "memory.max"),
    reservationBytes: readLimit(folder, "memory.min"),
    swapLimitBytes: readLimit(folder, "memory.swap.max"),
  };
}
