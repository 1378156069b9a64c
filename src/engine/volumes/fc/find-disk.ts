import type { FcDisk } from "../../../core/storage/fc/fc-disk.ts";
import { type FcLink, fcLinks } from "../../../core/storage/fc/fc-links.ts";
import type { StorageError } from "../../../core/storage/storage-error.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { DeviceTree } from "../../../ports/device-tree.ts";
import { multipathOf } from "../multipath.ts";

const hostsFolder = "/sys/class/scsi_host";

interface FoundDisk {
  readonly path: string;
  readonly multipath: string | undefined;
}

/** The device of a disk: its multipath, or else the disk itself after the buses were scanned. */
export async function findDisk(
  devices: DeviceTree,
  disk: FcDisk,
  signal: AbortSignal,
): Promise<Result<string, StorageError>> {
  let found = await lookForDisk(devices, disk);
  if (found?.multipath === undefined) {
    await scanBuses(devices, signal);
    found = await lookForDisk(devices, disk);
  }
  if (found === undefined) return failed("no fc disk found");
  const device = found.multipath ?? found.path;
  if (!(await devices.resolve(device)).ok) return failed(`device ${device} does not exist`);
  return ok(device);
}

/** Links are tried until one leads to a multipath. Without any, only the last one counts, as upstream does. */
async function lookForDisk(devices: DeviceTree, disk: FcDisk): Promise<FoundDisk | undefined> {
  let found: FoundDisk | undefined;
  for (const link of fcLinks(disk)) {
    found = await followLink(devices, link);
    if (found?.multipath !== undefined) return found;
  }
  return found;
}

async function followLink(
  devices: DeviceTree,
  { folder, matches }: FcLink,
): Promise<FoundDisk | undefined> {
  for (const name of (await devices.list(folder)) ?? []) {
    if (!matches(name)) continue;
    const disk = await devices.resolve(`${folder}${name}`);
    if (!disk.ok) continue;
    return { path: disk.value, multipath: await multipathOf(devices, disk.value) };
  }
  return undefined;
}

/** All channels, targets and LUNs of every host. What cannot be scanned has no new disk. */
async function scanBuses(devices: DeviceTree, signal: AbortSignal): Promise<void> {
  for (const host of (await devices.list(hostsFolder)) ?? []) {
    await devices.write(`${hostsFolder}/${host}/scan`, "- - -", signal);
  }
}

function failed(message: string): Result<never, StorageError> {
  return err({ kind: "final", message });
}
