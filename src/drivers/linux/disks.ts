import { readFile, statfs } from "node:fs/promises";
import type { DiskUsage } from "../../ports/host-usage.ts";

/** File systems in memory that belong to the machine; pods have many of their own. */
const memoryMounts: ReadonlySet<string> = new Set(["/dev/shm", "/run"]);
const noCounters: readonly number[] = Array.from({ length: 11 }, () => 0);

/** The machine's disks, each once, however often it is mounted. */
export async function readDisks(procFolder = "/proc"): Promise<readonly DiskUsage[]> {
  const mounts = await readFile(`${procFolder}/self/mounts`, "utf8").catch(() => "");
  const counters = parseDiskStats(
    await readFile(`${procFolder}/diskstats`, "utf8").catch(() => ""),
  );
  const disks: DiskUsage[] = [];
  for (const [device, mountPoint] of diskMounts(mounts)) {
    const fs = await statfs(mountPoint).catch(() => undefined);
    if (fs === undefined) continue;
    disks.push({
      device,
      capacityBytes: fs.blocks * fs.bsize,
      usedBytes: (fs.blocks - fs.bfree) * fs.bsize,
      inodes: fs.files,
      inodesFree: fs.ffree,
      counters: counters.get(device) ?? noCounters,
    });
  }
  return disks;
}

/** Device to one place where it is mounted, from the text of /proc/mounts. */
export function diskMounts(mounts: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of mounts.split("\n")) {
    const [source = "", mountPoint = "", type = ""] = line.split(" ");
    const device = type === "tmpfs" && memoryMounts.has(mountPoint) ? mountPoint : source;
    // A FUSE server names the source as it likes, and may never answer.
    const isServed = type.startsWith("fuse");
    const isDisk = !isServed && (device !== source || /^\/dev\/(?!loop)/.test(source));
    if (isDisk && !found.has(device)) found.set(device, mountPoint);
  }
  return found;
}

function parseDiskStats(text: string): ReadonlyMap<string, readonly number[]> {
  return new Map(
    text.split("\n").flatMap((line) => {
      const [, , name, ...counters] = line.trim().split(/\s+/);
      return name === undefined ? [] : [[`/dev/${name}`, counters.map(Number)] as const];
    }),
  );
}
