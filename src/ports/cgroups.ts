import type { CgroupResources } from "../model/cgroup.ts";

/**
 * The node's cgroups. A path is the one below the mounts (/kubepods/burstable/pod…). Nothing outside the root
 * that the driver was given is ever changed: such a path is refused.
 */
export interface Cgroups {
  readonly version: 1 | 2;
  /** Whether it is there in every hierarchy that counts. */
  exists(path: string): boolean;
  /** Makes it, and those above it, where missing; then as `update`. */
  create(path: string, resources: CgroupResources): Promise<void>;
  /**
   * Sets all that the kernel accepts, then rejects, naming the files, if it refused any. Takes seconds where memory has to be
   * freed first.
   */
  update(path: string, resources: CgroupResources): Promise<void>;
  /** What the kernel has in force for CPU and memory; a memory limit of -1 means no limit. */
  read(path: string): CgroupResources;
  readMemoryUsageBytes(path: string): bigint;
  /** Names directly below, from all hierarchies; empty when there is no such cgroup. */
  listChildren(path: string): readonly string[];
  /** Processes in it and below. */
  listPids(path: string): readonly number[];
  /** Kills what still runs in it and below, and removes them from all hierarchies. Absent is fine. */
  remove(path: string, signal: AbortSignal): Promise<void>;
}
