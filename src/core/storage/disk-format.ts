// What blkid(8), fsck(8), mkfs(8) and blockdev(8) are asked about a disk, and what their answers mean.

import { parseGoUint } from "../../lib/go-number.ts";
import { err, ok, type Result } from "../../lib/result.ts";

export const defaultFileSystem = "ext4";

/** A disk with partitions has no file system of its own, and is never formatted. */
const partitionsFormat = "unknown data, probably partitions";

/** blkid found nothing that it knows. */
export const blkidFoundNothing = 2;

const fsckUncorrected = 4;

export function blkidCommand(disk: string): readonly string[] {
  return ["blkid", "-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", disk];
}

/** The file system of a disk by what blkid wrote about it; "" when it has none. */
export function parseBlkid(output: string): Result<string, string> {
  const values = new Map<string, string>();
  for (const line of output.split("\n")) {
    if (line === "") continue;
    const [key = "", value = "", ...more] = line.split("=");
    if (!line.includes("=") || more.length > 0) {
      return err(`blkid returns invalid output: ${output}`);
    }
    values.set(key, value);
  }
  return ok((values.get("PTTYPE") ?? "") === "" ? (values.get("TYPE") ?? "") : partitionsFormat);
}

export function fsckCommand(disk: string): readonly string[] {
  return ["fsck", "-a", disk];
}

/** Why a disk cannot be used, by how fsck ended. A failure of fsck itself is not a reason. */
export function fsckProblem(disk: string, exitCode: number, output: string): string | undefined {
  if (exitCode !== fsckUncorrected) return undefined;
  return `'fsck' found errors on device ${disk} but could not correct them: ${output}`;
}

/** Without the question whether to go on, and without room kept for root. */
export function mkfsCommand(
  fileSystem: string,
  disk: string,
  formatOptions: readonly string[],
): readonly string[] {
  return [`mkfs.${fileSystem}`, ...formatOptions, ...mkfsFlags(fileSystem), disk];
}

function mkfsFlags(fileSystem: string): readonly string[] {
  if (fileSystem === "ext3" || fileSystem === "ext4") return ["-F", "-m0"];
  return fileSystem === "xfs" ? ["-f"] : [];
}

/** How a mounted file system grows to the size of its device. */
export interface Growth {
  readonly argv: readonly string[];
  /** What the program is given, for its errors. */
  readonly grown: string;
}

/** Undefined for a file system that cannot grow. */
export function growthOf(
  format: string,
  devicePath: string,
  deviceMountPath: string,
): Growth | undefined {
  switch (format) {
    case "ext3":
    case "ext4":
      return { argv: ["resize2fs", devicePath], grown: devicePath };
    case "xfs":
      return { argv: ["xfs_growfs", "-d", deviceMountPath], grown: deviceMountPath };
    case "btrfs":
      return {
        argv: ["btrfs", "filesystem", "resize", "max", deviceMountPath],
        grown: deviceMountPath,
      };
    default:
      return undefined;
  }
}

/** Whether a device is read-only, by the answer of blockdev --getro. */
export function parseReadOnlyBit(output: string): Result<boolean, string> {
  const bit = output.trim();
  if (bit === "0" || bit === "1") return ok(bit === "1");
  return err(`failed readonly device check. Expected 1 or 0, got '${bit}'`);
}

/** A device's size by the answer of blockdev --getsize64. */
export function parseDeviceSize(devicePath: string, output: string): Result<bigint, string> {
  const text = output.trim();
  const size = parseGoUint(text, 64);
  if (size.ok) return size;
  return err(`failed to parse size of device ${devicePath} ${text}: ${size.error}`);
}

/** The size of a btrfs file system, and of its blocks. */
export interface BtrfsSize {
  readonly blockBytes: bigint;
  readonly totalBytes: bigint;
}

/** Reads what btrfs inspect-internal dump-super wrote. */
export function parseBtrfsSize(devicePath: string, output: string): Result<BtrfsSize, string> {
  const sizes = readBtrfsSizes(output);
  if (sizes.blockBytes === 0n) return err(`could not find block size of device ${devicePath}`);
  if (sizes.totalBytes === 0n) return err(`could not find total size of device ${devicePath}`);
  return ok(sizes);
}

// One value that cannot be read makes all of them unknown.
function readBtrfsSizes(output: string): BtrfsSize {
  const sizes = { blockBytes: 0n, totalBytes: 0n };
  for (const line of output.split("\n")) {
    const [key = "", value = "", ...more] = line.split(/\s+/).filter((word) => word !== "");
    if (value === "" || more.length > 0) continue;
    const name = key.toLowerCase();
    if (name !== "sectorsize" && name !== "total_bytes") continue;
    const size = parseGoUint(value.toLowerCase(), 64);
    if (!size.ok) return { blockBytes: 0n, totalBytes: 0n };
    if (name === "sectorsize") sizes.blockBytes = size.value;
    else sizes.totalBytes = size.value;
  }
  return sizes;
}
