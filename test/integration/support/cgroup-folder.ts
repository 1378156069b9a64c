import { existsSync } from "node:fs";
import { join } from "node:path";

const base = "/sys/fs/cgroup";

// One hierarchy with all controllers: the machine has cgroups of version 2 alone.
const isUnified = existsSync(join(base, "cgroup.controllers"));

/** Where a controller has a cgroup, on a machine of either version. */
export function cgroupFolder(controller: string, path: string): string {
  return isUnified ? join(base, path) : join(base, controller, path);
}
