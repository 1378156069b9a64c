import { fstatSync, lstatSync, type Stats, statfsSync } from "node:fs";
import { bytePath, openEntry, unlessAbsent } from "./open-entry.ts";
import { type OnProgress, walkBelow } from "./tree-walk.ts";

/** Bytes of the blocks that stat counts, whatever the file system's own block size. */
const statBlockBytes = 512;

/** What is left on a file system, and what a tree takes of it. */
export interface MeasuredTree {
  readonly device: string;
  readonly availableBytes: number;
  readonly capacityBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly usedBytes: number;
  /** By its files, or by its whole file system. */
  readonly use: { readonly usedBytes: number; readonly inodesUsed: number };
}

export function measureTree(
  path: string,
  by: "files" | "file-system",
  onProgress: OnProgress,
): MeasuredTree | undefined {
  const opened = unlessAbsent(() => openEntry(path));
  if (opened === undefined) return undefined;
  using top = opened;
  const info = fstatSync(top.fd);
  const fs = statfsSync(top.path);
  const usedBytes = (fs.blocks - fs.bfree) * fs.bsize;
  const whole = { usedBytes, inodesUsed: fs.files - fs.ffree };
  return {
    device: String(info.dev),
    availableBytes: fs.bavail * fs.bsize,
    capacityBytes: fs.blocks * fs.bsize,
    usedBytes,
    inodes: fs.files,
    inodesFree: fs.ffree,
    use: by === "file-system" ? whole : sumOf(top, info, onProgress),
  };
}

/**
 * A file with several names counts as its share at each of them: that makes one file in all, as links do not lead out of
 * a volume, and no memory of what was seen is needed.
 */
function sumOf(
  top: Parameters<typeof walkBelow>[0],
  info: Stats,
  onProgress: OnProgress,
): MeasuredTree["use"] {
  let blocks = info.blocks;
  let inodes = 1;
  if (info.isDirectory()) {
    walkBelow(
      top,
      (folder, name) => {
        const found = lstatUnlessGone(bytePath(folder, name));
        if (found === undefined || found.dev !== info.dev) return false;
        const isFolder = found.isDirectory();
        const share = isFolder ? 1 : Math.max(1, found.nlink);
        blocks += found.blocks / share;
        inodes += 1 / share;
        return isFolder;
      },
      onProgress,
    );
  }
  return { usedBytes: Math.round(blocks * statBlockBytes), inodesUsed: Math.round(inodes) };
}

/** A container deletes while we look. */
function lstatUnlessGone(path: Buffer): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
