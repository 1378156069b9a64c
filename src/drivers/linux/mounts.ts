import type { Mounts } from "../../ports/mounts.ts";
import { isMountPoint, listBelow, unmount } from "./mount-table.ts";
import { bindSubPath } from "./subpath.ts";
import { CommandTimeoutError, runVolumeCommand } from "./volume-command.ts";

const mountTimeoutMs = 30_000;

/** Memory that must not reach the disk is kept out of the swap where the kernel can. */
const noSwap = "noswap";

/** The mounts of this machine, by mount(8) and umount(8). */
export const linuxMounts: Mounts = {
  listBelow,
  isMountPoint,
  mountTmpfs,
  mountHugePages: (path, pageSize, signal) =>
    mount(["-t", "hugetlbfs", "-o", `pagesize=${pageSize}`, "nodev", path], signal),
  unmount,
  bindSubPath,
};

async function mountTmpfs(
  path: string,
  sizeBytes: bigint | undefined,
  signal: AbortSignal,
): Promise<void> {
  const size = sizeBytes === undefined ? [] : [`size=${sizeBytes}`];
  try {
    await mount(["-t", "tmpfs", "-o", [...size, noSwap].join(","), "tmpfs", path], signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CommandTimeoutError) throw error;
    const options = size.length === 0 ? [] : ["-o", ...size];
    await mount(["-t", "tmpfs", ...options, "tmpfs", path], signal);
  }
}

async function mount(args: readonly string[], signal: AbortSignal): Promise<void> {
  await runVolumeCommand({ program: "mount", args, timeoutMs: mountTimeoutMs }, signal);
}
