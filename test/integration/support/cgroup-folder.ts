import { existsSync } from "node:fs";
import { join } from "node:path";

const base = "/sys/fs/cgroup";

// One hierarchy with all controllers: the machine has cgroups of version 2 alone.
const isUnified = existsSync(join(base, "cgroup.controllers"));

/** Where a controller has a cgroup, on a machine of either version. */
export function cgroupFolder(controller: string, path: string): string {
  return isUnified ? join(base, path) : join(base, controller, path);
}

/** Below /sys/fs/cgroup of a container: its quota of CPU and its limit of memory, as the first word of each. */
export const limitFiles: readonly string[] = isUnified
  ? ["cpu.max", "memory.max"]
  : ["cpu/cpu.cfs_quota_us", "memory/memory.limit_in_bytes"];

/** The file with the memory limit of a cgroup at `path`. */
export function memoryLimitFile(path: string): string {
  const name = isUnified ? "memory.max" : "memory.limit_in_bytes";
  return join(cgroupFolder("memory", path), name);
}
