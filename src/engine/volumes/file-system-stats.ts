import { errorText } from "../../lib/error-text.ts";
import { err, ok } from "../../lib/result.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { StorageResult, VolumeStats } from "./storage-plugin.ts";

/** What a mounted volume takes: all that its file system has. */
export async function fileSystemStats(
  foreignFiles: ForeignFiles,
  path: string,
  signal: AbortSignal,
): StorageResult<VolumeStats> {
  try {
    const measured = await foreignFiles.measure(path, "file-system", signal);
    if (measured === undefined) return err({ kind: "final", message: `${path} does not exist` });
    const { room, use } = measured;
    return ok({
      availableBytes: BigInt(room.availableBytes),
      capacityBytes: BigInt(room.capacityBytes),
      usedBytes: BigInt(use.usedBytes),
      inodesFree: BigInt(room.inodesFree),
      inodes: BigInt(room.inodes),
      inodesUsed: BigInt(use.inodesUsed),
    });
  } catch (error) {
    signal.throwIfAborted();
    return err({ kind: "final", message: errorText(error) });
  }
}
