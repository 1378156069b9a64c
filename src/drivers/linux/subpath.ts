import { constants, lstat, mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { errorText } from "../../lib/error-text.ts";
import type { SubPathBind, SubPathFailure } from "../../ports/mounts.ts";
import { isMountPoint, unmount } from "./mount-table.ts";
import { openSubPath, SubPathCreateError } from "./subpath-walk.ts";
import { runVolumeCommand } from "./volume-command.ts";
import { type OpenEntry, unlessAbsent } from "./volume-folder.ts";
import { kindOfNodePath } from "./volume-node-path.ts";
import { removeTree } from "./volume-removal.ts";

const timeoutMs = 30_000;

/** Binds a part of a volume to a place of the agent's own. */
export async function bindSubPath(
  { volumePath, subPath, target }: SubPathBind,
  signal: AbortSignal,
): Promise<SubPathFailure | undefined> {
  try {
    // Rejects where opening would wait for ever.
    await kindOfNodePath(volumePath, signal);
    await using entry = await openSubPath(volumePath, subPath, { makesFolders: true });
    if (await isBound(entry, target, signal)) return undefined;
    await makeTarget(entry, target);
    await bindEntry(entry, target, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    const code = error instanceof SubPathCreateError ? "create" : "prepare";
    return { code, message: errorText(error) };
  }
}

/** Whether the target shows this very file already; another one that is bound there is let go. */
async function isBound(entry: OpenEntry, target: string, signal: AbortSignal): Promise<boolean> {
  while (await isMountPoint(target)) {
    const [wanted, bound] = [await entry.handle.stat(), await stat(target)];
    if (wanted.dev === bound.dev && wanted.ino === bound.ino) return true;
    await unmount(target, signal);
  }
  return false;
}

async function makeTarget(entry: OpenEntry, target: string): Promise<void> {
  const isFolder = (await entry.handle.stat()).isDirectory();
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  const present = await unlessAbsent(lstat(target));
  if (present !== undefined) {
    if (present.isDirectory() === isFolder && !present.isSymbolicLink()) return;
    await removeTree(target);
  }
  if (isFolder) {
    await mkdir(target, 0o750);
    return;
  }
  // A file can be the mount point of anything that is no folder.
  const { O_CREAT, O_EXCL, O_WRONLY } = constants;
  const file = await open(target, O_WRONLY | O_CREAT | O_EXCL, 0o640);
  await file.close();
}

// The program gets the open file itself: no path leads to it that a container could change.
async function bindEntry(entry: OpenEntry, target: string, signal: AbortSignal): Promise<void> {
  const inheritedFd = entry.handle.fd;
  const args = ["--no-canonicalize", "--bind", "/proc/self/fd/3", target];
  await runVolumeCommand({ program: "mount", args, timeoutMs, inheritedFd }, signal);
}
