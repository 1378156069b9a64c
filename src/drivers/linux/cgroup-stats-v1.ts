import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { CgroupDetail, CgroupMemoryUsage, CgroupUsage } from "../../model/cgroup-usage.ts";
import type { CgroupStats } from "../../ports/stats.ts";
import type { CgroupMounts } from "./cgroup-mounts.ts";
import {
  countProcesses,
  createdAtMs,
  parseBlkio,
  readLimit,
  readMemInfo,
  readNumber,
  readPressure,
  readTable,
  readText,
} from "./cgroup-stat-files.ts";
import { DeviceNames } from "./device-names.ts";

/** What cgroups use, with one hierarchy per controller. */
export class CgroupStatsV1 implements CgroupStats {
  readonly #mounts: ReadonlyMap<string, string>;
  readonly #procFolder: string;
  readonly #devices = new DeviceNames();

  constructor(mounts: CgroupMounts, procFolder = "/proc") {
    this.#mounts = mounts.v1;
    this.#procFolder = procFolder;
  }

  async read(path: string, withDetail: boolean): Promise<CgroupUsage | undefined> {
    // Hundreds of small reads in a row must not keep the agent from answering.
    await setImmediate();
    const cpu = this.#folder("cpu", path);
    const memory = this.#folder("memory", path);
    const created = createdAtMs(cpu ?? memory ?? "", "cgroup.clone_children");
    if (created === undefined) return undefined;
    const isRoot = path === "/";
    const pressure = isRoot ? join(this.#procFolder, "pressure") : undefined;
    const accounting = this.#folder("cpuacct", path);
    return {
      timeMs: Date.now(),
      createdAtMs: created,
      cpu: {
        usageCoreNanoSeconds: readNumber(accounting, "cpuacct.usage") ?? 0,
        psi: readPressure(pressure, "cpu"),
      },
      memory: {
        ...readMemory(memory),
        ...(isRoot ? this.#machineLimits() : {}),
        psi: readPressure(pressure, "memory"),
      },
      processes: countProcesses(cpu),
      ioPsi: readPressure(pressure, "io"),
      ...(withDetail ? { detail: this.#detail(path) } : {}),
    };
  }

  #detail(path: string): CgroupDetail {
    const cpu = this.#folder("cpu", path);
    const accounting = this.#folder("cpuacct", path);
    const memory = this.#folder("memory", path);
    const pids = this.#folder("pids", path);
    const blkio = this.#folder("blkio", path);
    const stat = readTable(cpu, "cpu.stat");
    return {
      userNanoSeconds: readNumber(accounting, "cpuacct.usage_user") ?? 0,
      systemNanoSeconds: readNumber(accounting, "cpuacct.usage_sys") ?? 0,
      periods: stat?.get("nr_periods") ?? 0,
      throttledPeriods: stat?.get("nr_throttled") ?? 0,
      throttledNanoSeconds: stat?.get("throttled_time") ?? 0,
      burstPeriods: stat?.get("nr_bursts") ?? 0,
      burstNanoSeconds: stat?.get("burst_time") ?? 0,
      shares: readNumber(cpu, "cpu.shares"),
      quotaUs: readLimit(cpu, "cpu.cfs_quota_us"),
      periodUs: readNumber(cpu, "cpu.cfs_period_us"),
      maxUsageBytes: readNumber(memory, "memory.max_usage_in_bytes"),
      kernelBytes: readNumber(memory, "memory.kmem.usage_in_bytes"),
      failCount: readNumber(memory, "memory.failcnt"),
      oomKills: readTable(memory, "memory.oom_control")?.get("oom_kill"),
      reservationBytes: readLimit(memory, "memory.soft_limit_in_bytes"),
      threads: readNumber(pids, "pids.current") ?? 0,
      maxThreads: readLimit(pids, "pids.max"),
      io: parseBlkio(
        readText(blkio, "blkio.throttle.io_service_bytes_recursive") ?? "",
        readText(blkio, "blkio.throttle.io_serviced_recursive") ?? "",
      ).map((io) => ({ ...io, device: this.#devices.nameOf(io.device) })),
    };
  }

  /** The cgroup of all has no limit of its own. */
  #machineLimits(): Partial<CgroupMemoryUsage> {
    const machine = readMemInfo(this.#procFolder);
    return { limitBytes: machine.get("MemTotal"), swapLimitBytes: machine.get("SwapTotal") };
  }

  #folder(controller: string, path: string): string | undefined {
    const mountPoint = this.#mounts.get(controller);
    return mountPoint === undefined ? undefined : join(mountPoint, path);
  }
}

function readMemory(memory: string | undefined): CgroupMemoryUsage {
  const stat = readTable(memory, "memory.stat");
  const valueOf = (name: string) => stat?.get(`total_${name}`) ?? stat?.get(name) ?? 0;
  const usageBytes = readNumber(memory, "memory.usage_in_bytes") ?? 0;
  const inactiveFileBytes = valueOf("inactive_file");
  return {
    usageBytes,
    workingSetBytes: Math.max(usageBytes - inactiveFileBytes, 0),
    rssBytes: valueOf("rss"),
    cacheBytes: valueOf("cache"),
    mappedFileBytes: valueOf("mapped_file"),
    activeFileBytes: valueOf("active_file"),
    inactiveFileBytes,
    pageFaults: valueOf("pgfault"),
    majorPageFaults: valueOf("pgmajfault"),
    swapBytes: valueOf("swap"),
    limitBytes: readLimit(memory, "memory.limit_in_bytes"),
    swapLimitBytes: readLimit(memory, "memory.memsw.limit_in_bytes"),
  };
}
