// What volumes on disks of a network have in common: a disk is mounted once per node and bound into each pod.

import {
  pluginDevicesDirectory,
  pluginDirectory,
  podVolumeDirectory,
} from "../../core/paths/data-paths.ts";
import { joinMountOptions, mountOptionsOf } from "../../core/storage/mount-options.ts";
import { seLinuxContextOf } from "../../core/storage/selinux-context.ts";
import type { StorageError } from "../../core/storage/storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "../../core/storage/volume-spec.ts";
import { quoteText } from "../../lib/go-text.ts";
import { splitPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { BlockDevices } from "../../ports/block-devices.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Commands } from "../../ports/commands.ts";
import type { DeviceTree } from "../../ports/device-tree.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import type { Mounts } from "../../ports/mounts.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import { formatAndMount } from "./format-and-mount.ts";
import { findGlobalMapPath } from "./map-block-device.ts";
import { cleanUpMountPoint, findMountReferences, undoMount } from "./mount-points.ts";
import type {
  DeviceRequest,
  FoundStorage,
  PodVolumeRequest,
  PodVolumeTarget,
  ReconstructedVolume,
  StorageResult,
  StoredVolume,
} from "./storage-plugin.ts";
import { setVolumeOwnership } from "./volume-ownership.ts";

const folderMode = 0o750;

export interface DiskVolumeDeps {
  readonly rootFolder: string;
  readonly commands: Commands;
  readonly devices: DeviceTree & BlockDevices;
  readonly files: HostFiles;
  readonly foreignFiles: ForeignFiles;
  readonly mounts: Mounts;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly log: Log;
}

/** How a plugin knows a volume again by the folder of its disk. */
interface DiskPaths {
  readonly plugin: string;
  readonly specOf: (volumeName: string, folder: string) => Result<VolumeSpec, StorageError>;
}

/** Mounts a disk for the node, formatted if it is empty. One that is mounted stays. */
export async function mountDisk(
  deps: DiskVolumeDeps,
  request: DeviceRequest,
  { fsType, readOnly }: { readonly fsType: string; readonly readOnly: boolean },
  signal: AbortSignal,
): StorageResult<void> {
  const { spec, devicePath, deviceMountPath: target, seLinuxLabel = "" } = request;
  if (await deps.mounts.isMountPoint(target)) return ok(undefined);
  await deps.files.ensureFolder(target, folderMode);
  const options = mountOptionsOf(spec, [
    ...(readOnly ? ["ro"] : []),
    ...(seLinuxLabel === "" ? [] : [`context=${quoteText(seLinuxLabel)}`]),
  ]);
  const disk = { device: devicePath, target, fileSystem: fsType, options };
  const mounted = await formatAndMount(deps, disk, signal);
  if (mounted.ok) return mounted;
  await undoMount(deps, target, signal);
  const { type, message } = mounted.error;
  return err({ kind: "final", message, isFileSystemMismatch: type === "FilesystemMismatch" });
}

/** Binds a disk that the node has mounted into a pod, and gives its files to the pod's group. */
export async function bindDisk(
  deps: DiskVolumeDeps,
  request: PodVolumeRequest,
  disk: { readonly plugin: string; readonly mountPath: string; readonly readOnly: boolean },
  signal: AbortSignal,
): StorageResult<StoredVolume> {
  const { spec, pod, fsGroup, fsGroupChangePolicy, seLinuxLabel = "" } = request;
  const { plugin, mountPath: source, readOnly } = disk;
  const name = volumeSpecName(spec);
  const target = podVolumeDirectory(deps.rootFolder, pod.metadata.uid, { plugin, name });
  const volume: StoredVolume = {
    path: target,
    readOnly,
    managed: !readOnly,
    seLinuxRelabel: seLinuxLabel === "",
  };
  if (await deps.mounts.isMountPoint(target)) return ok(volume);
  await deps.files.ensureFolder(target, folderMode);
  const options = joinMountOptions(mountOptionsOf(spec), ["bind", ...(readOnly ? ["ro"] : [])]);
  const mount = { source, target, fileSystem: "", options, withoutSystemd: true };
  const mounted = await deps.mounts.mount(mount, signal);
  if (!mounted.ok) {
    await undoMount(deps, target, signal);
    return failed(mounted.error);
  }
  if (!readOnly) {
    const owned = { pod, path: target, fsGroup, fsGroupChangePolicy, readOnly };
    const changed = await setVolumeOwnership(deps, owned, signal);
    if (!changed.ok) {
      // The pod starts all the same, as upstream has it.
      deps.log.warn("cannot give a volume to the group of its pod", {
        path: target,
        error: changed.error,
      });
    }
  }
  return ok(volume);
}

/** Removes a disk from a pod; the node keeps it mounted. */
export async function unbindDisk(
  deps: DiskVolumeDeps,
  plugin: string,
  { podUid, volumeSpecName: name }: PodVolumeTarget,
  signal: AbortSignal,
): StorageResult<void> {
  const path = podVolumeDirectory(deps.rootFolder, podUid, { plugin, name });
  const cleaned = await cleanUpMountPoint(deps, path, {}, signal);
  return cleaned.ok ? cleaned : failed(cleaned.error);
}

/** A volume that was found bound into a pod, by where the node has mounted its disk. */
export async function reconstructDisk(
  deps: DiskVolumeDeps,
  { plugin, specOf }: DiskPaths,
  { path, volumeSpecName: name }: FoundStorage,
  signal: AbortSignal,
): StorageResult<ReconstructedVolume> {
  const references = await findMountReferences(deps, path, signal);
  if (!references.ok) return failed(references.error);
  const folder = pluginDirectory(deps.rootFolder, plugin);
  const mountPath = references.value.find((reference) => reference.includes(folder));
  if (mountPath === undefined) {
    return failed("couldn't fetch globalPDPath. failed to obtain volume spec");
  }
  const spec = specOf(name, mountPath);
  if (!spec.ok) return spec;
  const seLinuxMountContext = seLinuxContextOf(await deps.mounts.list(), path);
  return ok({ spec: spec.value, seLinuxMountContext });
}

/** The same for a block device, by where it is bound below the plugin's folder. */
export async function reconstructBlockDisk(
  deps: DiskVolumeDeps,
  { plugin, specOf }: DiskPaths,
  { path, podUid, volumeSpecName: name }: FoundStorage,
): StorageResult<ReconstructedVolume> {
  const pluginFolder = pluginDevicesDirectory(deps.rootFolder, plugin);
  const bound = await findGlobalMapPath(deps, { pluginFolder, podLink: path, podUid });
  if (!bound.ok) return failed(bound.error);
  // Upstream's message for one that is not bound names the folder ".".
  const spec = specOf(name, bound.value === undefined ? "." : splitPath(bound.value).folder);
  return spec.ok ? ok({ spec: spec.value }) : spec;
}

function failed(message: string): Result<never, StorageError> {
  return err({ kind: "final", message });
}
