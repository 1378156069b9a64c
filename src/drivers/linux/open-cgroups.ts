import { readFileSync } from "node:fs";
import type { Cgroups } from "../../ports/cgroups.ts";
import { parseCgroupMounts } from "./cgroup-mounts.ts";
import { CgroupsV1 } from "./cgroups-v1.ts";
import { CgroupsV2 } from "./cgroups-v2.ts";
import { readHugePageSizes } from "./huge-pages.ts";

/** This machine's cgroups, of whichever version; `root` is the cgroup that holds all pods. */
export function openCgroups(root: string): Cgroups {
  const mounts = parseCgroupMounts(readFileSync("/proc/self/mountinfo", "utf8"));
  const hugePageSizes = readHugePageSizes();
  if (mounts.v1.size > 0) return new CgroupsV1({ root, mounts, hugePageSizes });
  if (mounts.v2 !== undefined) {
    return new CgroupsV2({ root, mountPoint: mounts.v2, hugePageSizes });
  }
  throw new Error("no cgroup file system is mounted: mount cgroup2 at /sys/fs/cgroup");
}
