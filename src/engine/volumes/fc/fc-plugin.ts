import {
  type FcVolume,
  fcDeviceMountPath,
  fcGlobalMapPath,
  fcPluginName,
  fcVolume,
} from "../../../core/storage/fc/fc-disk.ts";
import {
  reconstructFcBlockVolume,
  reconstructFcVolume,
} from "../../../core/storage/fc/reconstruct-fc.ts";
import { volumeModeOf } from "../../../core/storage/kinds/volume-kind.ts";
import { deviceOfMount } from "../../../core/storage/mount-references.ts";
import type { StorageError } from "../../../core/storage/storage-error.ts";
import type { VolumeSpec } from "../../../core/storage/volume-spec.ts";
import { errorText } from "../../../lib/error-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import {
  bindDisk,
  type DiskVolumeDeps,
  mountDisk,
  reconstructBlockDisk,
  reconstructDisk,
  unbindDisk,
} from "../disk-volume.ts";
import { type DiskLayout, findDisks } from "../found-disks.ts";
import { cleanUpMountPoint } from "../mount-points.ts";
import type {
  BlockDeviceTarget,
  BlockStorage,
  DeviceStorage,
  StoragePlugin,
  StorageResult,
} from "../storage-plugin.ts";
import { detachBlockDevice, detachDevice } from "./detach-disk.ts";
import { findDisk } from "./find-disk.ts";

/** A multipath stays busy for a while after its unmount, and no later call knows the device any more. */
const detachForMs = 120_000;
const detachEveryMs = 10_000;

/** Disks of a Fibre Channel network. The node sees them by itself: there is nothing for a controller to attach. */
export function fcPlugin(deps: DiskVolumeDeps): StoragePlugin {
  return {
    name: fcPluginName,
    requiresRemount: () => false,
    device: fcDevices(deps),
    block: fcBlockDevices(deps),
    setUp: async (request, signal) => {
      const volume = filesystemVolume(request.spec);
      if (!volume.ok) return volume;
      const { disk, readOnly } = volume.value;
      const mountPath = fcDeviceMountPath(deps.rootFolder, disk);
      return await bindDisk(deps, request, { plugin: fcPluginName, mountPath, readOnly }, signal);
    },
    tearDown: (target, signal) => unbindDisk(deps, fcPluginName, target, signal),
    reconstruct: (found, signal) =>
      reconstructDisk(deps, { plugin: fcPluginName, specOf: reconstructFcVolume }, found, signal),
  };
}

function fcDevices(deps: DiskVolumeDeps): DeviceStorage {
  return {
    isAttachable: () => ok(true),
    isMountable: () => true,
    waitForAttach: async ({ spec }, signal) => {
      const volume = filesystemVolume(spec);
      return volume.ok ? await findDisk(deps.devices, volume.value.disk, signal) : volume;
    },
    mountPath: (spec) => {
      const volume = filesystemVolume(spec);
      return volume.ok ? ok(fcDeviceMountPath(deps.rootFolder, volume.value.disk)) : volume;
    },
    mountDevice: async (request, signal) => {
      const volume = fcVolume(request.spec, "mounter");
      return volume.ok ? await mountDisk(deps, request, volume.value, signal) : volume;
    },
    unmountDevice: (deviceMountPath, signal) => unmountDevice(deps, deviceMountPath, signal),
    find: () => findDisks(deps, diskLayout(deps.rootFolder)),
  };
}

function diskLayout(rootFolder: string): DiskLayout {
  const folderOf =
    (user: "mounter" | "mapper", pathOf: typeof fcDeviceMountPath) =>
    (spec: VolumeSpec): Result<string, StorageError> => {
      const volume = fcVolume(spec, user);
      return volume.ok ? ok(pathOf(rootFolder, volume.value.disk)) : volume;
    };
  return {
    plugin: fcPluginName,
    groupPrefix: undefined,
    recordName: undefined,
    mounted: { specOf: reconstructFcVolume, folderOf: folderOf("mounter", fcDeviceMountPath) },
    block: { specOf: reconstructFcBlockVolume, folderOf: folderOf("mapper", fcGlobalMapPath) },
  };
}

function fcBlockDevices(deps: DiskVolumeDeps): BlockStorage {
  return {
    setUpDevice: async () => ok(""),
    mapPodDevice: async () => ok(""),
    unmapPodDevice: async () => ok(undefined),
    tearDownDevice: (target, signal) => tearDownDevice(deps, target, signal),
    reconstruct: (found) =>
      reconstructBlockDisk(deps, { plugin: fcPluginName, specOf: reconstructFcBlockVolume }, found),
  };
}

async function unmountDevice(
  deps: DiskVolumeDeps,
  path: string,
  signal: AbortSignal,
): StorageResult<void> {
  const { device } = deviceOfMount(await deps.mounts.list(), path);
  const unmounted = await cleanUpMountPoint(deps, path, {}, signal);
  if (!unmounted.ok) return failed(`fc: failed to unmount: ${path}\nError: ${unmounted.error}`);
  if (device === "") return ok(undefined);
  let detached = await detachDevice(deps, device, signal);
  for (let waitedMs = 0; !detached.ok && waitedMs < detachForMs; waitedMs += detachEveryMs) {
    await deps.clock.sleep(detachEveryMs, signal);
    detached = await detachDevice(deps, device, signal);
  }
  return detached.ok ? detached : failed(`fc: failed to detach disk: ${device}: ${detached.error}`);
}

async function tearDownDevice(
  deps: DiskVolumeDeps,
  { globalMapPath: folder, devicePath }: BlockDeviceTarget,
  signal: AbortSignal,
): StorageResult<void> {
  const { devices, files, foreignFiles } = deps;
  const isGone = devicePath !== "" && !(await devices.resolve(devicePath)).ok;
  if (!isGone && (await files.realPath(folder)) !== undefined) {
    const name = folder.slice(folder.lastIndexOf("/") + 1);
    const detached = await detachBlockDevice(deps, name, devicePath, signal);
    if (!detached.ok)
      return failed(`fc: failed to detach disk: ${folder}\nError: ${detached.error}`);
  }
  try {
    return ok(await foreignFiles.removeTree(folder, signal));
  } catch (error) {
    signal.throwIfAborted();
    return failed(`fc: failed to delete the directory: ${folder}\nError: ${errorText(error)}`);
  }
}

/** As upstream makes it for a mount: a persistent volume says its mode. */
function filesystemVolume(spec: VolumeSpec): Result<FcVolume, StorageError> {
  const volume = fcVolume(spec, "mounter");
  if (!volume.ok) return volume;
  const mode = volumeModeOf(spec);
  return mode.ok ? volume : mode;
}

function failed(message: string): Result<never, StorageError> {
  return err({ kind: "final", message });
}
