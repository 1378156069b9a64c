import type { PsiStats } from "./stats-summary.ts";

/** What one cgroup and those below it use, at one moment. What the kernel does not report is missing. */
export interface CgroupUsage {
  readonly timeMs: number;
  /** When the cgroup was made. */
  readonly createdAtMs: number;
  readonly cpu?: CgroupCpuUsage | undefined;
  readonly memory?: CgroupMemoryUsage | undefined;
  /** Those of this cgroup alone. */
  readonly processes?: number | undefined;
  readonly ioPsi?: PsiStats | undefined;
  /** Only where it was asked for: it takes three times as many files. */
  readonly detail?: CgroupDetail | undefined;
}

export interface CgroupCpuUsage {
  readonly usageCoreNanoSeconds: number;
  readonly psi?: PsiStats | undefined;
}

export interface CgroupMemoryUsage {
  readonly usageBytes: number;
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly mappedFileBytes: number;
  readonly activeFileBytes: number;
  readonly inactiveFileBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  readonly swapBytes: number;
  /** Missing when unlimited. */
  readonly limitBytes?: number | undefined;
  readonly swapLimitBytes?: number | undefined;
  readonly psi?: PsiStats | undefined;
}

/** A cgroup's settings, and the part of its use that only metrics show. */
export interface CgroupDetail {
  readonly userNanoSeconds: number;
  readonly systemNanoSeconds: number;
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledNanoSeconds: number;
  readonly burstPeriods: number;
  readonly burstNanoSeconds: number;
  /** As the kernel has it: shares of v1, or the shares that a weight of v2 corresponds to. */
  readonly shares?: number | undefined;
  /** Missing when unlimited. */
  readonly quotaUs?: number | undefined;
  readonly periodUs?: number | undefined;
  readonly maxUsageBytes?: number | undefined;
  readonly kernelBytes?: number | undefined;
  readonly failCount?: number | undefined;
  readonly oomKills?: number | undefined;
  readonly reservationBytes?: number | undefined;
  readonly threads: number;
  /** Missing when unlimited. */
  readonly maxThreads?: number | undefined;
  readonly io: readonly CgroupDeviceIo[];
}

export interface CgroupDeviceIo {
  /** Such as /dev/sda; its number when it has no name. */
  readonly device: string;
  /** Its number, such as 8:0. */
  readonly number: string;
  /** By kind of operation, in the kernel's words: Read, Write, and others where it reports them. */
  readonly bytes: Readonly<Record<string, number>>;
  readonly reads: number;
  readonly writes: number;
}
