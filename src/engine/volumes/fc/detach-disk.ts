import { detachLink } from "../../../core/storage/fc/fc-links.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { Commands } from "../../../ports/commands.ts";
import type { DeviceTree } from "../../../ports/device-tree.ts";
import type { Log } from "../../../ports/log.ts";
import { isMapperDevice, multipathDisks, multipathOf } from "../multipath.ts";
import { runCommand } from "../run-command.ts";

export interface DetachDeps {
  readonly commands: Commands;
  readonly devices: DeviceTree;
  readonly log: Log;
}

/** Removes a device, or a multipath and all of its disks, from the node. */
export async function detachDevice(
  deps: DetachDeps,
  devicePath: string,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  // The mount may name the device by a link such as /dev/mapper/mpatha.
  const device = await deps.devices.resolve(devicePath);
  if (!device.ok) return device;
  const multipath = isMapperDevice(device.value) ? device.value : undefined;
  return await removeDevices(deps, device.value, multipath, signal);
}

/** The same for the device of a block volume, which is found by the name of the volume's folder. */
export async function detachBlockDevice(
  deps: DetachDeps,
  folderName: string,
  devicePath: string,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const { devices } = deps;
  const { folder, matches } = detachLink(folderName);
  const names = await devices.list(folder);
  if (names === undefined) return err(`open ${folder}: no such file or directory`);
  const name = names.find(matches);
  const path = name === undefined ? devicePath : `${folder}${name}`;
  if (path === "") {
    return err(`fc: failed to find corresponding device from searchPath: ${folder}`);
  }
  const device = await devices.resolve(path);
  if (!device.ok) return device;
  const multipath = await multipathOf(devices, device.value);
  return await removeDevices(deps, device.value, multipath, signal);
}

async function removeDevices(
  deps: DetachDeps,
  device: string,
  multipath: string | undefined,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  let disks = [device];
  if (multipath !== undefined) {
    // Read before the map is gone, and with it the list.
    disks = await multipathDisks(deps.devices, multipath);
    const argv = ["multipath", "-f", multipath];
    const { failure, output } = await runCommand(deps.commands, argv, signal);
    if (failure !== undefined) {
      return err(`failed to flush multipath device ${multipath}: ${failure}\n${output}`);
    }
  }
  let result: Result<void, string> = ok(undefined);
  for (const disk of disks) {
    if (disk.startsWith("/dev/")) await removeDisk(deps, disk, signal);
    else {
      const error = `fc detach disk: invalid device name: ${disk}`;
      result = err(`fc: detachFCDisk failed. device: ${disk} err: ${error}`);
    }
  }
  return result;
}

async function removeDisk(deps: DetachDeps, disk: string, signal: AbortSignal): Promise<void> {
  const argv = ["blockdev", "--flushbufs", disk];
  const { failure, output } = await runCommand(deps.commands, argv, signal);
  if (failure !== undefined) {
    deps.log.warn("cannot flush a disk before its removal", { disk, output, error: failure });
  }
  const name = disk.slice(disk.lastIndexOf("/") + 1);
  const removed = await deps.devices.write(`/sys/block/${name}/device/delete`, "1", signal);
  if (!removed.ok) deps.log.warn("cannot remove a disk", { disk, error: removed.error });
}
