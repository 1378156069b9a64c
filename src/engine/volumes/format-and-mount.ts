import {
  blkidCommand,
  blkidFoundNothing,
  defaultFileSystem,
  fsckCommand,
  fsckProblem,
  mkfsCommand,
  parseBlkid,
} from "../../core/storage/disk-format.ts";
import { quoteText } from "../../lib/go-text.ts";
import { shownMountOptions } from "../../lib/mount-arguments.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Commands } from "../../ports/commands.ts";
import type { Mounts } from "../../ports/mounts.ts";
import { runCommand } from "./run-command.ts";

/** A disk that is to be mounted, and formatted first if nothing is on it. */
export interface DiskMount {
  readonly device: string;
  readonly target: string;
  /** "" for the default. */
  readonly fileSystem: string;
  readonly options: readonly string[];
  readonly secretOptions?: readonly string[] | undefined;
  readonly formatOptions?: readonly string[] | undefined;
}

/** Why a disk was not mounted, by upstream's names. */
export interface DiskMountFailure {
  readonly type:
    | "FilesystemMismatch"
    | "HasFilesystemErrors"
    | "UnformattedReadOnly"
    | "FormatFailed"
    | "GetDiskFormatFailed"
    | "UnknownMountError";
  readonly message: string;
}

export interface DiskMountDeps {
  readonly commands: Commands;
  readonly mounts: Pick<Mounts, "mount">;
}

/** A large disk is formatted or checked for a long time. */
const longMs = 3_600_000;

/** Mounts a disk: formatted when it is empty and may be written to, checked when it has a file system. */
export async function formatAndMount(
  deps: DiskMountDeps,
  disk: DiskMount,
  signal: AbortSignal,
): Promise<Result<void, DiskMountFailure>> {
  const { device, target, secretOptions = [] } = disk;
  const fileSystem = disk.fileSystem === "" ? defaultFileSystem : disk.fileSystem;
  const isReadOnly = [...disk.options, ...secretOptions].includes("ro");
  const options = [...disk.options, "defaults"];
  const found = await readDiskFormat(deps.commands, device, signal);
  if (!found.ok) {
    const message = `failed to get disk format of disk ${device}: ${found.error}`;
    return err({ type: "GetDiskFormatFailed", message });
  }
  const isEmpty = found.value === "";
  if (isEmpty && isReadOnly) {
    const message = `cannot mount unformatted disk ${device} as we are manipulating it in read-only mode`;
    return err({ type: "UnformattedReadOnly", message });
  }
  if (!isReadOnly) {
    const prepared = isEmpty
      ? await format(deps, { ...disk, fileSystem, options }, signal)
      : await check(deps, device, signal);
    if (!prepared.ok) return prepared;
  }
  const mount = { source: device, target, fileSystem, options, secretOptions };
  const mounted = await deps.mounts.mount({ ...mount, withoutSystemd: false }, signal);
  if (mounted.ok) return mounted;
  const isMismatch = !isEmpty && found.value !== fileSystem;
  return err({
    type: isMismatch ? "FilesystemMismatch" : "UnknownMountError",
    message: mounted.error,
  });
}

/** The file system on a disk; "" when there is none. */
export async function readDiskFormat(
  commands: Commands,
  device: string,
  signal: AbortSignal,
): Promise<Result<string, string>> {
  const { exitCode, output, failure } = await runCommand(commands, blkidCommand(device), signal);
  if (exitCode === blkidFoundNothing) return ok("");
  return failure === undefined ? parseBlkid(output) : err(failure);
}

async function format(
  { commands }: DiskMountDeps,
  { device, target, fileSystem, options, secretOptions = [], formatOptions = [] }: DiskMount,
  signal: AbortSignal,
): Promise<Result<void, DiskMountFailure>> {
  const argv = mkfsCommand(fileSystem, device, formatOptions);
  const { output, failure } = await runCommand(commands, argv, signal, longMs);
  if (failure === undefined) return ok(undefined);
  const shown = quoteText(shownMountOptions(options, secretOptions));
  const message = `format of disk ${quoteText(device)} failed: type:(${quoteText(fileSystem)}) target:(${quoteText(target)}) options:(${shown}) errcode:(${failure}) output:(${output}) `;
  return err({ type: "FormatFailed", message });
}

async function check(
  { commands }: DiskMountDeps,
  device: string,
  signal: AbortSignal,
): Promise<Result<void, DiskMountFailure>> {
  const { exitCode, output } = await runCommand(commands, fsckCommand(device), signal, longMs);
  const message = exitCode === undefined ? undefined : fsckProblem(device, exitCode, output);
  return message === undefined ? ok(undefined) : err({ type: "HasFilesystemErrors", message });
}
