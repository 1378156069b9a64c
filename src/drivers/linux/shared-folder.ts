import { readFile, realpath } from "node:fs/promises";
import { findMountOf, isSharedMount, parseMountInfo } from "../../lib/mount-info.ts";
import type { HungPaths } from "./hung-paths.ts";
import { runVolumeCommand } from "./volume-command.ts";

const timeoutMs = 10_000;

/**
 * Makes the folder one whose mounts containers can share: they may mount for each other there, by mountPropagation. A
 * folder on an unshared mount is bound to itself for that, and stays so, also for the next agent.
 */
export async function shareFolder(
  folder: string,
  hungPaths: HungPaths,
  signal: AbortSignal,
): Promise<void> {
  const path = await realpath(folder);
  const mounts = parseMountInfo(await readFile("/proc/self/mountinfo", "utf8"));
  const mount = findMountOf(mounts, path);
  if (mount !== undefined && isSharedMount(mount)) return;
  for (const args of [
    ["--bind", path, path],
    ["--make-rshared", path],
  ]) {
    await runVolumeCommand({ program: "mount", args, timeoutMs }, hungPaths, signal);
  }
}
