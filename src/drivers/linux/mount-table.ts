import { readFileSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ExpiringCache } from "../../lib/expiring-cache.ts";
import {
  linesAbovePath,
  linesWithPath,
  type MountEntry,
  parseMountInfo,
} from "../../lib/mount-info.ts";
import { shareReads } from "../../lib/share-reads.ts";
import { unlessAbsent } from "./open-folder.ts";

const mountInfo = "/proc/self/mountinfo";
/** Among hundreds of pods it takes the kernel ten milliseconds and more to write the table, and a pod's removal asks four times. */
const recentMs = 1_000;

/** The table grows with the pods, and is asked for several times for each that comes or goes. */
const readTable = shareReads(() => readFile(mountInfo, "utf8"));

/** Waits for it in this thread: for the rare case that something hangs. */
export function readMountsNow(): readonly MountEntry[] {
  return parseMountInfo(readFileSync(mountInfo, "utf8"));
}

/** The mounts at or below a path of the agent's own, in the order in which they can be unmounted. */
export async function listBelow(path: string): Promise<readonly MountEntry[]> {
  const real = await realPath(path);
  if (real === undefined) return [];
  return parseMountInfo(linesWithPath(await readTable(), real))
    .filter(({ mountPoint }) => mountPoint === real || mountPoint.startsWith(`${real}/`))
    .toReversed();
}

/** The mounts strictly below a path of the agent's own. */
export async function listInside(path: string): Promise<readonly MountEntry[]> {
  const real = await realPath(path);
  return (await listBelow(path)).filter(({ mountPoint }) => mountPoint !== real);
}

/** What the mount table calls a path of the agent's own on which something is mounted; undefined when nothing is. */
export async function mountPointAt(path: string): Promise<string | undefined> {
  return (await mountAt(path))?.mountPoint;
}

/** What is mounted at a path of the agent's own, the one on top. */
export async function mountAt(path: string): Promise<MountEntry | undefined> {
  const real = await realPath(path);
  if (real === undefined) return undefined;
  const mounts = parseMountInfo(linesWithPath(await readTable(), real));
  return mounts.findLast(({ mountPoint }) => mountPoint === real);
}

export async function readMounts(): Promise<readonly MountEntry[]> {
  return parseMountInfo(await readTable());
}

/** The mounts that a path can be on, in a table that may be a little older than the question. */
export class RecentMounts {
  readonly #table = new ExpiringCache<string>(() => performance.now(), 1);

  async listAbove(path: string): Promise<readonly MountEntry[]> {
    const table = await this.#table.get(mountInfo, async () => ({
      value: await readTable(),
      keepMs: recentMs,
    }));
    return parseMountInfo(linesAbovePath(table, path));
  }
}

// The last component is not read: it may be a mount that does not answer.
async function realPath(path: string): Promise<string | undefined> {
  const parent = await unlessAbsent(realpath(dirname(path)));
  return parent === undefined ? undefined : join(parent, basename(path));
}
