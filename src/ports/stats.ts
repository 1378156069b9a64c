import type { CgroupUsage } from "../model/cgroup-usage.ts";
import type { Summary } from "../model/stats-summary.ts";
import type { DiskUsage, InterfaceUsage, ProcessUsage } from "./host-usage.ts";

export interface SummaryOptions {
  /** Leaves out everything but CPU, memory and swap. */
  readonly cpuAndMemoryOnly?: boolean | undefined;
  /** Reads the node's own usage now, even where the last reading is young. */
  readonly isFresh?: boolean | undefined;
  /** Reads the pods' usage now too. */
  readonly arePodsFresh?: boolean | undefined;
  /** Leaves the pods out, and does not ask the runtime for what it returned recently. */
  readonly nodeOnly?: boolean | undefined;
}

/** The node's usage as a whole and by pod. */
export interface StatsProvider {
  /** Rejects when the node's own usage or the runtime's list of containers cannot be had; the rest is left out where unknown. */
  summary(options: SummaryOptions, signal: AbortSignal): Promise<Summary>;
}

/** The same in more detail, for the pages of metrics. */
export interface CgroupMeasurements {
  /** The machine's cgroup, and those of all pods down to each container. */
  measuredCgroups(signal: AbortSignal): Promise<readonly MeasuredCgroup[]>;
}

/** A cgroup, whose it is, and what it uses. What is not known is empty. */
export interface MeasuredCgroup {
  /** The path below the mounts. */
  readonly id: string;
  /** The runtime's id of a container or sandbox. */
  readonly name: string;
  readonly image: string;
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
  readonly usage: CgroupUsage;
  readonly processes?: ProcessUsage | undefined;
  /** Of the machine and of sandboxes. */
  readonly interfaces?: readonly InterfaceUsage[] | undefined;
  /** Of the machine. */
  readonly disks?: readonly DiskUsage[] | undefined;
}

/** Reads what cgroups use. */
export interface CgroupStats {
  /** A path below the mounts, "/" for the whole machine; undefined when there is no such cgroup. */
  read(path: string, withDetail: boolean): Promise<CgroupUsage | undefined>;
}
