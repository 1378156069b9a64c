import { readFileSync } from "node:fs";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { MemoryGauge } from "../../ports/memory-gauge.ts";
import type { CgroupStats } from "../../ports/stats.ts";
import { type CgroupMounts, parseCgroupMounts } from "./cgroup-mounts.ts";
import { CgroupStatsV1 } from "./cgroup-stats-v1.ts";
import { CgroupStatsV2 } from "./cgroup-stats-v2.ts";
import { CgroupsV1 } from "./cgroups-v1.ts";
import { CgroupsV2 } from "./cgroups-v2.ts";
import { readHugePageSizes } from "./huge-pages.ts";
import { ProcMemoryGauge } from "./memory-gauge.ts";
import { SystemCgroups } from "./system-cgroups.ts";

/** This machine's cgroups, of whichever version; `root` is the cgroup that holds all pods. */
export function openCgroups(root: string): Cgroups {
  const mounts = readMounts();
  const hugePageSizes = readHugePageSizes();
  if (mounts.v1.size > 0) return new CgroupsV1({ root, mounts, hugePageSizes });
  if (mounts.v2 !== undefined) {
    return new CgroupsV2({ root, mountPoint: mounts.v2, hugePageSizes });
  }
  throw notMounted();
}

/** The readings of this machine's cgroups, of whichever version. */
export function openCgroupStats(): CgroupStats {
  const mounts = readMounts();
  if (mounts.v1.size > 0) return new CgroupStatsV1(mounts);
  if (mounts.v2 !== undefined) return new CgroupStatsV2(mounts.v2);
  throw notMounted();
}

/** Where processes that belong to no pod are kept. */
export function openSystemCgroups(): SystemCgroups {
  return new SystemCgroups(readMounts());
}

/** What this machine's memory and its cgroups hold. */
export function openMemoryGauge(): MemoryGauge {
  return new ProcMemoryGauge(readMounts());
}

let foundMounts: CgroupMounts | undefined;

/** Looks once: the list is long on a node with many pods, and where cgroups are stays the same as long as the machine runs. */
function readMounts(): CgroupMounts {
  if (foundMounts !== undefined) return foundMounts;
  const mounts = parseCgroupMounts(readFileSync("/proc/self/mountinfo", "utf8"));
  if (mounts.v1.size > 0 || mounts.v2 !== undefined) foundMounts = mounts;
  return mounts;
}

function notMounted(): Error {
  return new Error("no cgroup file system is mounted: mount cgroup2 at /sys/fs/cgroup");
}
