import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { CgroupDetail, CgroupMemoryUsage, CgroupUsage } from "../../model/cgroup-usage.ts";
import type { CgroupStats } from "../../ports/stats.ts";
import {
  countProcesses,
  createdAtMs,
  parseIoStat,
  readLimit,
  readMemInfo,
  readNumber,
  readPressure,
  readTable,
  readText,
} from "./cgroup-stat-files.ts";
import { weightToShares } from "./cgroups-v2.ts";
import { DeviceNames } from "./device-names.ts";

type Stat = ReadonlyMap<string, number>;

/** What cgroups of the unified hierarchy use. */
export class CgroupStatsV2 implements CgroupStats {
  readonly #mountPoint: string;
  readonly #procFolder: string;
  readonly #devices = new DeviceNames();

  constructor(mountPoint: string, procFolder = "/proc") {
    this.#mountPoint = mountPoint;
    this.#procFolder = procFolder;
  }

  async read(path: string, withDetail: boolean): Promise<CgroupUsage | undefined> {
    // Hundreds of small reads in a row must not keep the agent from answering.
    await setImmediate();
    const folder = join(this.#mountPoint, path);
    const created = createdAtMs(folder, "cgroup.events");
    if (created === undefined) return undefined;
    const isRoot = path === "/";
    const cpu = readTable(folder, "cpu.stat");
    const memory = readTable(folder, "memory.stat");
    return {
      timeMs: Date.now(),
      createdAtMs: created,
      cpu: {
        usageCoreNanoSeconds: (cpu?.get("usage_usec") ?? 0) * 1000,
        psi: readPressure(folder, "cpu.pressure"),
      },
      memory: {
        ...(isRoot ? this.#machineMemory(folder, memory) : readMemory(folder, memory)),
        psi: readPressure(folder, "memory.pressure"),
      },
      processes: countProcesses(folder),
      ioPsi: readPressure(folder, "io.pressure"),
      ...(withDetail ? { detail: this.#detail(folder, cpu, memory) } : {}),
    };
  }

  #detail(folder: string, cpu: Stat | undefined, memory: Stat | undefined): CgroupDetail {
    const nanosOf = (name: string) => (cpu?.get(name) ?? 0) * 1000;
    const [quota, period] = readText(folder, "cpu.max")?.trim().split(" ") ?? [];
    const weight = readNumber(folder, "cpu.weight");
    const events = readTable(folder, "memory.events");
    return {
      userNanoSeconds: nanosOf("user_usec"),
      systemNanoSeconds: nanosOf("system_usec"),
      periods: cpu?.get("nr_periods") ?? 0,
      throttledPeriods: cpu?.get("nr_throttled") ?? 0,
      throttledNanoSeconds: nanosOf("throttled_usec"),
      burstPeriods: cpu?.get("nr_bursts") ?? 0,
      burstNanoSeconds: nanosOf("burst_usec"),
      shares: weight === undefined ? undefined : weightToShares(weight),
      quotaUs: quota === undefined || quota === "max" ? undefined : Number(quota),
      periodUs: period === undefined ? undefined : Number(period),
      maxUsageBytes: readNumber(folder, "memory.peak"),
      kernelBytes: memory?.get("kernel"),
      failCount: events?.get("max"),
      oomKills: events?.get("oom_kill"),
      reservationBytes: readLimit(folder, "memory.min"),
      threads: readNumber(folder, "pids.current") ?? 0,
      maxThreads: readLimit(folder, "pids.max"),
      io: parseIoStat(readText(folder, "io.stat") ?? "").map((io) => ({
        ...io,
        device: this.#devices.nameOf(io.device),
      })),
    };
  }

  /** The root has no files for what is used and allowed: that is the machine's own. */
  #machineMemory(folder: string, stat: Stat | undefined): CgroupMemoryUsage {
    const machine = readMemInfo(this.#procFolder);
    const read = readMemory(folder, stat);
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

function readMemory(folder: string, stat: Stat | undefined): CgroupMemoryUsage {
  const valueOf = (name: string) => stat?.get(name) ?? 0;
  const usageBytes = readNumber(folder, "memory.current") ?? 0;
  const inactiveFileBytes = valueOf("inactive_file");
  return {
    usageBytes,
    workingSetBytes: Math.max(usageBytes - inactiveFileBytes, 0),
    rssBytes: valueOf("anon"),
    cacheBytes: valueOf("file"),
    mappedFileBytes: valueOf("file_mapped"),
    activeFileBytes: valueOf("active_file"),
    inactiveFileBytes,
    pageFaults: valueOf("pgfault"),
    majorPageFaults: valueOf("pgmajfault"),
    swapBytes: readNumber(folder, "memory.swap.current") ?? 0,
    limitBytes: readLimit(folder, "memory.max"),
    swapLimitBytes: readLimit(folder, "memory.swap.max"),
  };
}
