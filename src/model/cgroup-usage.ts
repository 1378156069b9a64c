import type { PsiStats } from "./stats-summary.ts";

/** What one cgroup and those below it use, at one moment. What the kernel does not tell is missing. */
export interface CgroupUsage {
  readonly timeMs: number;
  /** When the cgroup was made. */
  readonly createdAtMs: number;
  readonly cpu?: CgroupCpuUsage | undefined;
  readonly memory?: CgroupMemoryUsage | undefined;
  readonly pids?: CgroupPidsUsage | undefined;
  readonly io?: readonly CgroupDeviceIo[] | undefined;
  readonly ioPsi?: PsiStats | undefined;
}

export interface CgroupCpuUsage {
  readonly usageCoreNanoSeconds: number;
  readonly userNanoSeconds: number;
  readonly systemNanoSeconds: number;
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledNanoSeconds: number;
  readonly burstPeriods: number;
  readonly burstNanoSeconds: number;
  /** As the kernel has it: shares of v1, or the shares that a weight of v2 stands for. */
  readonly shares?: number | undefined;
  /** Missing when unlimited. */
  readonly quotaUs?: number | undefined;
  readonly periodUs?: number | undefined;
  readonly psi?: PsiStats | undefined;
}

export interface CgroupMemoryUsage {
  readonly usageBytes: number;
  readonly maxUsageBytes?: number | undefined;
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly mappedFileBytes: number;
  readonly kernelBytes?: number | undefined;
  readonly activeFileBytes: number;
  readonly inactiveFileBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  readonly swapBytes: number;
  readonly failCount?: number | undefined;
  readonly oomKills?: number | undefined;
  /** Missing when unlimited. */
  readonly limitBytes?: number | undefined;
  readonly reservationBytes?: number | undefined;
  readonly swapLimitBytes?: number | undefined;
  readonly psi?: PsiStats | undefined;
}

export interface CgroupPidsUsage {
  readonly processes: number;
  readonly threads: number;
  /** Missing when unlimited. */
  readonly maxThreads?: number | undefined;
}

export interface CgroupDeviceIo {
  readonly device: string;
  readonly readBytes: number;
  readonly writeBytes: number;
  readonly reads: number;
  readonly writes: number;
}
