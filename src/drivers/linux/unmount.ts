import type { HungPaths } from "./hung-paths.ts";
import { readMounts } from "./mount-table.ts";
import { runVolumeCommand } from "./volume-command.ts";

const timeoutMs = 10_000;

/** Unmounts what the mount table names so, without looking at it; what is busy or does not answer is detached instead. */
export async function unmount(
  mountPoint: string,
  hungPaths: HungPaths,
  signal: AbortSignal,
): Promise<void> {
  const run = async (...args: readonly string[]): Promise<void> => {
    await runVolumeCommand({ program: "umount", args, timeoutMs }, hungPaths, signal);
  };
  try {
    await run("--no-canonicalize", mountPoint);
  } catch {
    signal.throwIfAborted();
    // Another process may have been faster.
    if (!(await readMounts()).some((mount) => mount.mountPoint === mountPoint)) return;
    await run("--lazy", "--no-canonicalize", mountPoint);
  }
}
