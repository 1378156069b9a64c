import { pluginDevicesDirectory, pluginDirectory } from "../../../core/paths/data-paths.ts";
import type { AttachedDisk } from "../../../core/storage/iscsi/attached-disk.ts";
import { detachLinkPath } from "../../../core/storage/iscsi/iscsi-device.ts";
import { iscsiPluginName } from "../../../core/storage/iscsi/iscsi-disk.ts";
import { deleteInterface, deleteNode, logout } from "../../../core/storage/iscsi/iscsiadm.ts";
import type { StorageError } from "../../../core/storage/storage-error.ts";
import { errorText } from "../../../lib/error-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { DiskVolumeDeps } from "../disk-volume.ts";
import { multipathOf } from "../multipath.ts";
import type { StorageResult } from "../storage-plugin.ts";
import { lunDiskNames } from "./read-sessions.ts";
import { runIscsiadm } from "./run-iscsiadm.ts";

/** iscsiadm's exit codes for a session and for a record that is not there. */
const alreadyGone: ReadonlySet<number> = new Set([2, 21]);

/** Removes the devices of a disk that is not mounted any more, and logs out if no other disk of its target is used. */
export async function detachDisk(
  deps: DiskVolumeDeps,
  disk: AttachedDisk,
  signal: AbortSignal,
): StorageResult<void> {
  await deleteDevices(deps, disk, signal);
  return await logOutIfUnused(deps, disk, signal);
}

/** The same for a disk that pods used as a block device. Its devices go with the session. */
export async function detachBlockDisk(
  deps: DiskVolumeDeps,
  disk: AttachedDisk,
  signal: AbortSignal,
): StorageResult<void> {
  const { portals, iqn, lun } = disk;
  const [portal] = portals;
  if (portal === undefined) return noPortals;
  const link = detachLinkPath(portal, iqn, lun);
  if (!(await deps.devices.resolve(link)).ok) {
    return failed(`failed to validate devicePath: ${link}`);
  }
  return await logOutIfUnused(deps, disk, signal);
}

/** Whatever cannot be deleted goes with the session at the latest. */
async function deleteDevices(
  deps: DiskVolumeDeps,
  { iqn, lun, isRecorded }: AttachedDisk,
  signal: AbortSignal,
): Promise<void> {
  if (!isRecorded || !/^[+-]?\d+$/.test(lun)) return;
  const { devices, log } = deps;
  const names = await lunDiskNames(devices, iqn, Number(lun));
  const multipaths = new Set<string>();
  for (const name of names) {
    const multipath = await multipathOf(devices, `/dev/${name}`);
    if (multipath !== undefined) multipaths.add(multipath);
  }
  for (const device of multipaths) {
    const { failure } = await runIscsiadm(deps, ["multipath", "-f", device], signal);
    if (failure !== undefined) {
      log.warn("cannot flush the multipath of an iscsi disk", { device, iqn, error: failure });
    }
  }
  for (const name of names) {
    const deleted = await devices.write(`/sys/block/${name}/device/delete`, "1", signal);
    if (!deleted.ok) {
      log.warn("cannot delete the device of an iscsi disk", { name, iqn, error: deleted.error });
    }
  }
}

async function logOutIfUnused(
  deps: DiskVolumeDeps,
  disk: AttachedDisk,
  signal: AbortSignal,
): StorageResult<void> {
  const [portal] = disk.portals;
  if (portal === undefined) return noPortals;
  if (await isTargetUsed(deps, portal, disk.iqn)) return ok(undefined);
  const failure = await logOut(deps, disk, signal);
  if (failure === undefined) return ok(undefined);
  return failed(`failed to finish detachISCSIDisk, err: ${failure}`);
}

/** By the folders of its disks, of which one is that of the disk that is being detached. */
async function isTargetUsed(
  { files, log, rootFolder }: DiskVolumeDeps,
  portal: string,
  iqn: string,
): Promise<boolean> {
  try {
    let disks = 0;
    const folders = [
      pluginDirectory(rootFolder, iscsiPluginName),
      pluginDevicesDirectory(rootFolder, iscsiPluginName),
    ];
    for (const folder of folders) {
      for (const interfaceFolder of await files.list(folder)) {
        if (interfaceFolder === "volumeDevices") continue;
        const names = await files.list(`${folder}/${interfaceFolder}`);
        disks += names.filter((name) => name.startsWith(`${portal}-${iqn}`)).length;
      }
    }
    return disks > 1;
  } catch (error) {
    log.error("cannot count the disks of an iscsi target, so the node stays logged in", {
      portal,
      iqn,
      error: errorText(error),
    });
    return true;
  }
}

/** Answers why it failed. */
async function logOut(
  deps: DiskVolumeDeps,
  { portals, iqn, interface: usedInterface, hasOwnInterface }: AttachedDisk,
  signal: AbortSignal,
): Promise<string | undefined> {
  const commands = portals.flatMap((portal) => [
    logout(portal, iqn, usedInterface),
    deleteNode(portal, iqn, usedInterface),
  ]);
  if (hasOwnInterface && usedInterface !== undefined) commands.push(deleteInterface(usedInterface));
  for (const argv of commands) {
    const { failure, exitCode, output } = await runIscsiadm(deps, argv, signal);
    if (failure === undefined || (exitCode !== undefined && alreadyGone.has(exitCode))) continue;
    deps.log.error("cannot log out of an iscsi target", { portals, iqn, output, error: failure });
    return failure;
  }
  return undefined;
}

const noPortals = failed(
  "iscsi detach disk: failed to detach iscsi disk. Couldn't get connected portals from configurations",
);

function failed(message: string): Result<never, StorageError> {
  return err({ kind: "final", message });
}
