import { readFileSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type MountEntry, parseMountInfo } from "../../lib/mount-info.ts";
import { unlessAbsent } from "./open-folder.ts";

const mountInfo = "/proc/self/mountinfo";

/** Waits for it in this thread: for the rare case that something hangs. */
export function readMountsNow(): readonly MountEntry[] {
  return parseMountInfo(readFileSync(mountInfo, "utf8"));
}

/** The mounts at or below a path of the agent's own, in the order in which they can be unmounted. */
export async function listBelow(path: string): Promise<readonly MountEntry[]> {
  const real = await realPath(path);
  if (real === undefined) return [];
  return parseMountInfo(linesWith(await readFile(mountInfo, "utf8"), real))
    .filter(({ mountPoint }) => mountPoint === real || mountPoint.startsWith(`${real}/`))
    .toReversed();
}

/** A node has several mounts for each container: most lines are about others, and are not worth parsing. */
function linesWith(text: string, path: string): string {
  // What the kernel writes as octal is not found as it is.
  if (/[\s\\#]/.test(path)) return text;
  const lines = text.split("\n").filter((line) => line.includes(path));
  return lines.join("\n");
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
  return (await readMounts()).findLast(({ mountPoint }) => mountPoint === real);
}

export async function readMounts(): Promise<readonly MountEntry[]> {
  return parseMountInfo(await readFile(mountInfo, "utf8"));
}

// The last component is not read: it may be a mount that does not answer.
async function realPath(path: string): Promise<string | undefined> {
  const parent = await unlessAbsent(realpath(dirname(path)));
  return parent === undefined ? undefined : join(parent, basename(path));
}
