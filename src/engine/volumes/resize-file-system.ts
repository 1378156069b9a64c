import {
  growthOf,
  parseBtrfsSize,
  parseDeviceSize,
  parseReadOnlyBit,
} from "../../core/storage/disk-format.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Commands } from "../../ports/commands.ts";
import { readDiskFormat } from "./format-and-mount.ts";
import { runCommand } from "./run-command.ts";

/** A device with a mounted file system. */
export interface MountedDevice {
  readonly devicePath: string;
  readonly deviceMountPath: string;
}

/** Moving what lies on a large disk may take long. */
const growMs = 3_600_000;

/** Grows a mounted file system to the size of its device. Answers whether there was one. */
export async function resizeFileSystem(
  commands: Commands,
  { devicePath, deviceMountPath }: MountedDevice,
  signal: AbortSignal,
): Promise<Result<boolean, string>> {
  const format = await readFormat(commands, devicePath, signal);
  if (!format.ok) return format;
  // mkfs takes the whole device.
  if (format.value === "") return ok(false);
  const growth = growthOf(format.value, devicePath, deviceMountPath);
  if (growth === undefined) {
    return err(
      `ResizeFS.Resize - resize of format ${format.value} is not supported for device ${devicePath} mounted at ${deviceMountPath}`,
    );
  }
  const { argv, grown } = growth;
  const { output, failure } = await runCommand(commands, argv, signal, growMs);
  if (failure === undefined) return ok(true);
  return err(`resize of device ${grown} failed: ${failure}. ${argv[0]} output: ${output}`);
}

/** Whether a mounted file system is to be grown; for most of them the program that does it knows. @upstream */
export async function needsResize(
  commands: Commands,
  { devicePath }: MountedDevice,
  signal: AbortSignal,
): Promise<Result<boolean, string>> {
  const readOnly = await runCommand(commands, ["blockdev", "--getro", devicePath], signal);
  if (readOnly.failure !== undefined) {
    return err(
      `failed to get readonly bit from device ${devicePath}: ${readOnly.failure}: ${readOnly.output.trim()}`,
    );
  }
  const isReadOnly = parseReadOnlyBit(readOnly.output);
  if (!isReadOnly.ok) return isReadOnly;
  if (isReadOnly.value) return ok(false);
  const format = await readFormat(commands, devicePath, signal);
  if (!format.ok) return format;
  switch (format.value) {
    case "":
      return ok(false);
    case "ext3":
    case "ext4":
    case "xfs":
      return ok(true);
    case "btrfs":
      return await btrfsIsSmaller(commands, devicePath, signal);
    default:
      return err(
        `could not parse fs info of given filesystem format: ${format.value}. Supported fs types are: xfs, ext3, ext4`,
      );
  }
}

async function readFormat(
  commands: Commands,
  devicePath: string,
  signal: AbortSignal,
): Promise<Result<string, string>> {
  const format = await readDiskFormat(commands, devicePath, signal);
  if (format.ok) return format;
  return err(`ResizeFS.Resize - error checking format for device ${devicePath}: ${format.error}`);
}

async function btrfsIsSmaller(
  commands: Commands,
  devicePath: string,
  signal: AbortSignal,
): Promise<Result<boolean, string>> {
  const device = await runCommand(commands, ["blockdev", "--getsize64", devicePath], signal);
  if (device.failure !== undefined) {
    return err(
      `failed to read size of device ${devicePath}: ${device.failure}: ${device.output.trim()}`,
    );
  }
  const deviceBytes = parseDeviceSize(devicePath, device.output);
  if (!deviceBytes.ok) return deviceBytes;
  const argv = ["btrfs", "inspect-internal", "dump-super", "-f", devicePath];
  const dump = await runCommand(commands, argv, signal);
  if (dump.failure !== undefined) {
    return err(
      `failed to read size of filesystem on ${devicePath}: ${dump.failure}: ${dump.output}`,
    );
  }
  const size = parseBtrfsSize(devicePath, dump.output);
  if (!size.ok) return size;
  return ok(deviceBytes.value > size.value.totalBytes + size.value.blockBytes);
}
