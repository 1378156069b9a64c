import type { CgroupUsage } from "../model/cgroup-usage.ts";
import type { Summary } from "../model/stats-summary.ts";

export interface SummaryOptions {
  /** Leaves out everything but CPU, memory and swap. */
  readonly cpuAndMemoryOnly?: boolean | undefined;
  /** Reads the node's own usage now, even where the last reading is young. */
  readonly isFresh?: boolean | undefined;
}

/** The node's usage as a whole and by pod. */
export interface StatsProvider {
  /** Rejects when the node's own usage or the runtime's list of containers cannot be had; the rest is left out where unknown. */
  summary(options: SummaryOptions, signal: AbortSignal): Promise<Summary>;
}

/** Reads what cgroups use. */
export interface CgroupStats {
  /** A path below the mounts, "/" for the whole machine; undefined when there is no such cgroup. */
  read(path: string): Promise<CgroupUsage | undefined>;
}
