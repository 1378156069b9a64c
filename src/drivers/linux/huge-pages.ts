import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CgroupResources } from "../../model/cgroup.ts";
import type { HugePages } from "../../model/machine-info.ts";
import type { CgroupSetting } from "./cgroup-files.ts";

const units = ["B", "KB", "MB", "GB", "TB", "PB"];
const unbounded = 2n ** 62n;

/** The huge page sizes of this machine, in bytes. */
export function readHugePageSizes(folder = "/sys/kernel/mm/hugepages"): bigint[] {
  try {
    return readdirSync(folder)
      .map((name) => /^hugepages-(\d+)kB$/.exec(name)?.[1])
      .filter((size) => size !== undefined)
      .map((size) => BigInt(size) * 1024n);
  } catch {
    return [];
  }
}

/** The huge pages of the machine or of one of its NUMA nodes, by their folder. */
export function readHugePages(folder: string): readonly HugePages[] {
  return readHugePageSizes(folder).map((sizeBytes) => {
    const pageSizeKb = Number(sizeBytes / 1024n);
    return { pageSizeKb, count: readCount(join(folder, `hugepages-${pageSizeKb}kB`)) };
  });
}

function readCount(folder: string): number {
  try {
    return Number(readFileSync(join(folder, "nr_hugepages"), "utf8"));
  } catch {
    return 0;
  }
}

/** What to write for every size the machine has: none where no limit is given. `suffix` is the file's end. */
export function hugePageSettings(
  limits: CgroupResources["hugePageLimits"],
  machineSizes: readonly bigint[],
  suffix: "limit_in_bytes" | "max",
): CgroupSetting[] {
  if (limits === undefined) return [];
  const sizes =
    limits === "unbounded" ? machineSizes : new Set([...machineSizes, ...limits.keys()]);
  return [...sizes].flatMap((size) => {
    const value = String(limits === "unbounded" ? unbounded : (limits.get(size) ?? 0n));
    const name = `hugetlb.${sizeName(size)}`;
    return [
      { file: `${name}.${suffix}`, value },
      // Reservations count beside use where the kernel knows them.
      { file: `${name}.rsvd.${suffix}`, value, optional: true },
    ];
  });
}

/** 2097152 as 2MB, as the kernel names its files. */
function sizeName(sizeBytes: bigint): string {
  let size = sizeBytes;
  let unit = 0;
  while (size !== 0n && size % 1024n === 0n && unit < units.length - 1) {
    size /= 1024n;
    unit++;
  }
  return `${size}${units[unit]}`;
}
