import { readFile, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type MountEntry, parseMountInfo } from "../../lib/mount-info.ts";
import { runVolumeCommand } from "./volume-command.ts";
import { unlessAbsent } from "./volume-folder.ts";

const timeoutMs = 10_000;

/** The mounts at or below a path, in the order in which they can be unmounted. */
export async function listBelow(path: string): Promise<readonly MountEntry[]> {
  const real = await realPath(path);
  if (real === undefined) return [];
  const entries = parseMountInfo(await readFile("/proc/self/mountinfo", "utf8"));
  return entries
    .filter(({ mountPoint }) => mountPoint === real || mountPoint.startsWith(`${real}/`))
    .toReversed();
}

export async function isMountPoint(path: string): Promise<boolean> {
  const real = await realPath(path);
  return (await listBelow(path)).some(({ mountPoint }) => mountPoint === real);
}

/** Unmounts; what is busy or does not answer is detached instead. */
export async function unmount(path: string, signal: AbortSignal): Promise<void> {
  const real = (await realPath(path)) ?? path;
  try {
    await runUnmount(["--no-canonicalize", real], signal);
  } catch {
    signal.throwIfAborted();
    // Somebody else may have been faster.
    if (!(await isMountPoint(real))) return;
    await runUnmount(["--lazy", "--no-canonicalize", real], signal);
  }
}

// The last component is not looked at: it may be a mount that does not answer.
async function realPath(path: string): Promise<string | undefined> {
  const parent = await unlessAbsent(realpath(dirname(path)));
  return parent === undefined ? undefined : join(parent, basename(path));
}

async function runUnmount(args: readonly string[], signal: AbortSignal): Promise<void> {
  await runVolumeCommand({ program: "umount", args, timeoutMs }, signal);
}
