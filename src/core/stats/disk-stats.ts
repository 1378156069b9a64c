import type { Volume } from "../../model/generated/kubernetes.ts";
import type { ContainerStats, FsStats } from "../../model/stats-summary.ts";

/** What is left on a file system. */
export type FileSystemRoom = Pick<
  FsStats,
  "timeMs" | "availableBytes" | "capacityBytes" | "inodesFree" | "inodes"
>;

/** Something's own part of a file system. */
export interface DiskUse {
  readonly timeMs: number;
  readonly usedBytes?: number | undefined;
  readonly inodesUsed?: number | undefined;
}

export function fsStats(room: FileSystemRoom | undefined, use: DiskUse): FsStats {
  return {
    timeMs: use.timeMs,
    availableBytes: room?.availableBytes,
    capacityBytes: room?.capacityBytes,
    usedBytes: use.usedBytes,
    inodesFree: room?.inodesFree,
    inodes: room?.inodes,
    inodesUsed: use.inodesUsed,
  };
}

/** What a pod takes of the node's own disk: layers, logs, volumes that go with it, and its own files. */
export function ephemeralStorage(
  room: FileSystemRoom,
  containers: readonly Pick<ContainerStats, "rootfs" | "logs">[],
  others: readonly (DiskUse | undefined)[],
): FsStats {
  const uses = [
    // Without its layer a container's logs do not count either.
    ...containers.flatMap(({ rootfs, logs }) => (rootfs === undefined ? [] : [rootfs, logs])),
    ...others,
  ].filter((use) => use !== undefined);
  return fsStats(room, {
    timeMs: Math.max(room.timeMs, ...uses.map(({ timeMs }) => timeMs)),
    usedBytes: sumOf(uses.map(({ usedBytes }) => usedBytes)),
    inodesUsed: sumOf(uses.map(({ inodesUsed }) => inodesUsed)),
  });
}

/** Unknown only when nothing is known. */
function sumOf(amounts: readonly (number | undefined)[]): number | undefined {
  const known = amounts.filter((amount) => amount !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, amount) => sum + amount, 0);
}

/** Whether the use of a volume is found by its files; that of others is what their storage reports. */
export function isFileVolume(volume: Volume): boolean {
  return (
    volume.emptyDir !== undefined ||
    volume.configMap !== undefined ||
    volume.secret !== undefined ||
    volume.projected !== undefined ||
    volume.downwardAPI !== undefined
  );
}

/** The volumes that count against a pod's ephemeral storage; those in memory do not. */
export function isLocalEphemeralVolume(volume: Volume): boolean {
  const isOnDisk = volume.emptyDir !== undefined && (volume.emptyDir.medium ?? "") === "";
  return isOnDisk || volume.configMap !== undefined || volume.gitRepo !== undefined;
}
