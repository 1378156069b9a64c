import { podVolumeDirectory } from "../../../core/paths/data-paths.ts";
import { type AttachedDisk, attachedDisk } from "../../../core/storage/iscsi/attached-disk.ts";
import {
  type IscsiDisk,
  iscsiDeviceMountPath,
  iscsiGlobalMapPath,
  iscsiPluginName,
  iscsiVolume,
} from "../../../core/storage/iscsi/iscsi-disk.ts";
import { iscsiFileName, iscsiFilePath } from "../../../core/storage/iscsi/iscsi-file.ts";
import {
  reconstructIscsiBlockVolume,
  reconstructIscsiVolume,
} from "../../../core/storage/iscsi/reconstruct-iscsi.ts";
import { volumeModeOf } from "../../../core/storage/kinds/volume-kind.ts";
import type { StorageError } from "../../../core/storage/storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "../../../core/storage/volume-spec.ts";
import { errorText } from "../../../lib/error-text.ts";
import { KeyedSemaphore } from "../../../lib/keyed-semaphore.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { CsiObjects } from "../../../ports/csi-objects.ts";
import {
  bindDisk,
  type DiskVolumeDeps,
  mountDisk,
  reconstructBlockDisk,
  reconstructDisk,
  unbindDisk,
} from "../disk-volume.ts";
import { fileSystemStats } from "../file-system-stats.ts";
import { type DiskLayout, findDisks } from "../found-disks.ts";
import type {
  BlockStorage,
  DeviceRequest,
  DeviceStorage,
  FoundStorage,
  PodVolumeRequest,
  PodVolumeTarget,
  ReconstructedVolume,
  StatsRequest,
  StoragePlugin,
  StorageResult,
  StoredVolume,
  VolumeStats,
} from "../storage-plugin.ts";
import { attachDisk } from "./attach-disk.ts";
import { chapCredentials } from "./chap-credentials.ts";
import { detachBlockDisk, detachDisk } from "./detach-disk.ts";

export interface IscsiPluginDeps extends DiskVolumeDeps {
  readonly secrets: Pick<CsiObjects, "secret">;
}

/** Disks of iSCSI targets. The node logs in itself: there is nothing for a controller to attach. */
export class IscsiPlugin implements StoragePlugin {
  readonly name: string = iscsiPluginName;
  readonly device: DeviceStorage = {
    isAttachable: () => ok(true),
    isMountable: () => true,
    waitForAttach: (request, signal) => this.#waitForAttach(request, signal),
    mountPath: (spec) => this.#mountPath(spec),
    mountDevice: async (request, signal) => {
      const volume = iscsiVolume(request.spec);
      return volume.ok ? await mountDisk(this.#deps, request, volume.value, signal) : volume;
    },
    unmountDevice: (deviceMountPath, signal) => this.#unmountDevice(deviceMountPath, signal),
    find: () => findDisks(this.#deps, diskLayout(this.#deps.rootFolder)),
  };
  readonly block: BlockStorage = {
    setUpDevice: async () => ok(""),
    mapPodDevice: async () => ok(""),
    unmapPodDevice: async () => ok(undefined),
    tearDownDevice: ({ globalMapPath }, signal) =>
      this.#detach(globalMapPath, detachBlockDisk, signal),
    reconstruct: (found) =>
      reconstructBlockDisk(
        this.#deps,
        { plugin: this.name, specOf: reconstructIscsiBlockVolume },
        found,
      ),
  };
  readonly #deps: IscsiPluginDeps;
  /** By IQN: disks of one target share its sessions, so that no disk may log out while another one logs in. */
  readonly #targets = new KeyedSemaphore(1);

  constructor(deps: IscsiPluginDeps) {
    this.#deps = deps;
  }

  requiresRemount(): boolean {
    return false;
  }

  async setUp(request: PodVolumeRequest, signal: AbortSignal): StorageResult<StoredVolume> {
    const { spec, pod } = request;
    const volume = iscsiVolume(spec);
    if (!volume.ok) return volume;
    // Only a login needs them, but upstream does not set up a volume without its secret either.
    const credentials = await chapCredentials(this.#deps.secrets, spec, pod, signal);
    if (!credentials.ok) return credentials;
    const { disk, readOnly } = volume.value;
    const mountPath = iscsiDeviceMountPath(this.#deps.rootFolder, disk);
    const bound = { plugin: this.name, mountPath, readOnly };
    return await bindDisk(this.#deps, request, bound, signal);
  }

  tearDown(target: PodVolumeTarget, signal: AbortSignal): StorageResult<void> {
    return unbindDisk(this.#deps, this.name, target, signal);
  }

  reconstruct(found: FoundStorage, signal: AbortSignal): StorageResult<ReconstructedVolume> {
    const paths = { plugin: this.name, specOf: reconstructIscsiVolume };
    return reconstructDisk(this.#deps, paths, found, signal);
  }

  stats({ spec, podUid }: StatsRequest, signal: AbortSignal): StorageResult<VolumeStats> {
    const volume = { plugin: this.name, name: volumeSpecName(spec) };
    const path = podVolumeDirectory(this.#deps.rootFolder, podUid, volume);
    return fileSystemStats(this.#deps.foreignFiles, path, signal);
  }

  async #waitForAttach(
    { spec, pod }: Pick<DeviceRequest, "spec" | "pod">,
    signal: AbortSignal,
  ): StorageResult<string> {
    const volume = iscsiVolume(spec);
    if (!volume.ok) return volume;
    const credentials = await chapCredentials(this.#deps.secrets, spec, pod, signal);
    if (!credentials.ok) return credentials;
    const mode = volumeModeOf(spec);
    if (!mode.ok) return mode;
    const isBlock = mode.value === "Block";
    const { disk } = volume.value;
    const folder = (isBlock ? iscsiGlobalMapPath : iscsiDeviceMountPath)(
      this.#deps.rootFolder,
      disk,
    );
    const request = { volume: volume.value, credentials: credentials.value, folder, isBlock };
    return await this.#inTurn(disk, () => attachDisk(this.#deps, request, signal), signal);
  }

  #mountPath(spec: VolumeSpec): Result<string, StorageError> {
    const volume = iscsiVolume(spec);
    if (!volume.ok) return volume;
    const mode = volumeModeOf(spec);
    if (!mode.ok) return mode;
    return ok(iscsiDeviceMountPath(this.#deps.rootFolder, volume.value.disk));
  }

  async #unmountDevice(path: string, signal: AbortSignal): StorageResult<void> {
    const { mounts } = this.#deps;
    if (await mounts.isMountPoint(path)) {
      const unmounted = await mounts.unmountVolume(path, {}, signal);
      if (!unmounted.ok) return detachFailed(path, unmounted.error);
      // Mounted twice, one over the other: its devices are still used.
      if (await mounts.isMountPoint(path)) return detachFailed(path, `${path} is still mounted`);
    }
    return await this.#detach(path, detachDisk, signal);
  }

  /** Detaches the disk of a folder, and removes the folder: others see by it that the disk is used. */
  async #detach(
    folder: string,
    detach: typeof detachDisk,
    signal: AbortSignal,
  ): StorageResult<void> {
    const { files, foreignFiles } = this.#deps;
    if ((await files.realPath(folder)) === undefined) return ok(undefined);
    const disk = attachedDisk(folder, await files.readText(iscsiFilePath(folder)));
    if (!disk.ok) return detachFailed(folder, disk.error.message);
    const work = async (): StorageResult<void> => {
      const detached = await detach(this.#deps, disk.value, signal);
      if (!detached.ok) return detachFailed(folder, detached.error.message);
      try {
        return ok(await foreignFiles.removeTree(folder, signal));
      } catch (error) {
        signal.throwIfAborted();
        const message = `iscsi: failed to delete the directory: ${folder}\nError: ${errorText(error)}`;
        return err({ kind: "final", message });
      }
    };
    return await this.#inTurn(disk.value, work, signal);
  }

  async #inTurn<T>(
    { iqn }: Pick<IscsiDisk | AttachedDisk, "iqn">,
    work: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const leave = await this.#targets.enter(iqn, signal);
    try {
      return await work();
    } finally {
      leave();
    }
  }
}

function diskLayout(rootFolder: string): DiskLayout {
  const folderOf =
    (pathOf: typeof iscsiDeviceMountPath) =>
    (spec: VolumeSpec): Result<string, StorageError> => {
      const volume = iscsiVolume(spec);
      return volume.ok ? ok(pathOf(rootFolder, volume.value.disk)) : volume;
    };
  return {
    plugin: iscsiPluginName,
    groupPrefix: "iface-",
    recordName: iscsiFileName,
    mounted: { specOf: reconstructIscsiVolume, folderOf: folderOf(iscsiDeviceMountPath) },
    block: { specOf: reconstructIscsiBlockVolume, folderOf: folderOf(iscsiGlobalMapPath) },
  };
}

function detachFailed(path: string, message: string): Result<never, StorageError> {
  return err({
    kind: "final",
    message: `iscsi: failed to detach disk: ${path}\nError: ${message}`,
  });
}
