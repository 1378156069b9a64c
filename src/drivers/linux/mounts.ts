import type { Commands } from "../../ports/commands.ts";
import type { Mounts } from "../../ports/mounts.ts";
import { HungPathError, type HungPaths } from "./hung-paths.ts";
import { listBelow, mountAt, mountPointAt, readMounts } from "./mount-table.ts";
import { unmount } from "./unmount.ts";
import { CommandTimeoutError, runVolumeCommand } from "./volume-command.ts";
import { volumeMounts } from "./volume-mounts.ts";

const mountTimeoutMs = 30_000;

/** Memory that must not reach the disk is kept out of the swap where the kernel can. */
const noSwap = "noswap";

/** The mounts of this machine, by mount(8) and umount(8). */
export function linuxMounts(hungPaths: HungPaths, commands: Commands): Mounts {
  const mount = async (args: readonly string[], signal: AbortSignal): Promise<void> => {
    const command = { program: "mount", args, timeoutMs: mountTimeoutMs };
    await runVolumeCommand(command, hungPaths, signal);
  };
  return {
    list: readMounts,
    listBelow,
    isMountPoint: async (path) => (await mountPointAt(path)) !== undefined,
    mountTmpfs: async (path, sizeBytes, signal) => {
      const size = sizeBytes === undefined ? [] : [`size=${sizeBytes}`];
      try {
        await mount(["-t", "tmpfs", "-o", [...size, noSwap].join(","), "tmpfs", path], signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof CommandTimeoutError || error instanceof HungPathError) throw error;
        const options = size.length === 0 ? [] : ["-o", ...size];
        await mount(["-t", "tmpfs", ...options, "tmpfs", path], signal);
      }
    },
    mountHugePages: (path, pageSize, signal) =>
      mount(["-t", "hugetlbfs", "-o", `pagesize=${pageSize}`, "nodev", path], signal),
    unmount: (mountPoint, signal) => unmount(mountPoint, hungPaths, signal),
    ...volumeMounts({ commands, mountAt, mounterPath: "" }),
  };
}
