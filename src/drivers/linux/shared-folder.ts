import { readFile, realpath } from "node:fs/promises";
import { type MountEntry, parseMountInfo } from "../../lib/mount-info.ts";
import { runVolumeCommand } from "./volume-command.ts";

const timeoutMs = 10_000;

/**
 * Makes the folder one whose mounts containers can share: they may mount for each other there, by mountPropagation. A
 * folder on an unshared mount is bound to itself for that, and stays so, also for the next agent.
 */
export async function shareFolder(folder: string, signal: AbortSignal): Promise<void> {
  const path = await realpath(folder);
  const mounts = parseMountInfo(await readFile("/proc/self/mountinfo", "utf8"));
  if (findMountOf(mounts, path)?.isShared === true) return;
  for (const args of [
    ["--bind", path, path],
    ["--make-rshared", path],
  ]) {
    await runVolumeCommand({ program: "mount", args, timeoutMs }, signal);
  }
}

/** The mount that a path is on: of those with the longest mount point the one on top. */
export function findMountOf(mounts: readonly MountEntry[], path: string): MountEntry | undefined {
  let found: MountEntry | undefined;
  for (const mount of mounts) {
    const { mountPoint } = mount;
    const holds = path === mountPoint || path.startsWith(mountPoint.replace(/\/?$/, "/"));
    if (holds && mountPoint.length >= (found?.mountPoint.length ?? 0)) found = mount;
  }
  return found;
}
