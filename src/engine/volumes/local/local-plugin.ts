import { podsDirectory, podVolumeDirectory } from "../../../core/paths/data-paths.ts";
import { defaultFileSystem } from "../../../core/storage/disk-format.ts";
import {
  absolutePath,
  climbingPathProblem,
  foundLocalVolume,
  type LocalSource,
  localDeviceMountPath,
  localMountsFolder,
  localPath,
  localPluginName,
  localSource,
} from "../../../core/storage/local-volume.ts";
import { joinMountOptions, mountOptionsOf } from "../../../core/storage/mount-options.ts";
import { deviceOfMount } from "../../../core/storage/mount-references.ts";
import type { StorageError } from "../../../core/storage/storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "../../../core/storage/volume-spec.ts";
import { KeyedTurns } from "../../../lib/keyed-turns.ts";
import { isPathWithin } from "../../../lib/path-within.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { PodUid } from "../../../model/ids.ts";
import type { Commands } from "../../../ports/commands.ts";
import type { ForeignFiles } from "../../../ports/foreign-files.ts";
import { fileSystemStats } from "../file-system-stats.ts";
import { formatAndMount } from "../format-and-mount.ts";
import {
  cleanUpMountPoint,
  findMountReferences,
  type MountPointDeps,
  undoMount,
} from "../mount-points.ts";
import { resizeFileSystem } from "../resize-file-system.ts";
import type {
  BlockStorage,
  DeviceRequest,
  DeviceStorage,
  FoundStorage,
  PodVolumeRequest,
  StoragePlugin,
  StorageResult,
  StoredVolume,
} from "../storage-plugin.ts";
import { type OwnershipDeps, setVolumeOwnership } from "../volume-ownership.ts";

export interface LocalPluginDeps extends MountPointDeps, OwnershipDeps {
  readonly rootFolder: string;
  readonly foreignFiles: ForeignFiles;
  readonly commands: Commands;
}

/** Folders and disks of this node, as persistent volumes. */
export function localPlugin(deps: LocalPluginDeps): StoragePlugin {
  const { rootFolder, foreignFiles } = deps;
  /** Pods that share a folder decide in turn who changes its owner. */
  const turns = new KeyedTurns();
  const folderOf = (podUid: PodUid, name: string): string =>
    podVolumeDirectory(rootFolder, podUid, { plugin: localPluginName, name });
  return {
    name: localPluginName,
    requiresRemount: () => false,
    device: localDevices(deps),
    block: localBlocks,

    setUp: async (request, signal) => {
      const source = await readSource(deps, request.spec, signal);
      if (!source.ok) return source;
      const mountPath = localDeviceMountPath(rootFolder, request.spec, source.value);
      const path = folderOf(request.pod.metadata.uid, volumeSpecName(request.spec));
      return await turns.run(mountPath, () => setUp(deps, request, { mountPath, path }, signal));
    },

    tearDown: async ({ podUid, volumeSpecName: name }, signal) =>
      asStorageResult(await cleanUpMountPoint(deps, folderOf(podUid, name), {}, signal)),

    expand: async ({ spec, deviceMountPath }, signal) => {
      if (isBlock(spec)) return ok(undefined);
      const source = await readSource(deps, spec, signal);
      if (!source.ok) return source;
      if (source.value.kind === "folder") return ok(undefined);
      const device = { devicePath: source.value.path, deviceMountPath };
      const resized = await resizeFileSystem(deps.commands, device, signal);
      return resized.ok ? ok(undefined) : err(failed(resized.error));
    },

    stats: ({ spec, podUid }, signal) =>
      fileSystemStats(foreignFiles, folderOf(podUid, volumeSpecName(spec)), signal),

    reconstruct: (found, signal) => reconstruct(deps, found, signal),
  };
}

function localDevices(deps: LocalPluginDeps): DeviceStorage {
  const { rootFolder } = deps;
  return {
    isAttachable: () => ok(false),
    isMountable: () => true,
    waitForAttach: async () => ok(""),

    mountPath: async (spec, signal) => {
      const source = await readSource(deps, spec, signal);
      return source.ok ? ok(localDeviceMountPath(rootFolder, spec, source.value)) : source;
    },

    mountDevice: async (request, signal) => {
      const source = await readSource(deps, request.spec, signal);
      if (!source.ok) return source;
      if (source.value.kind === "folder") return ok(undefined);
      return await mountDisk(deps, request, source.value.path, signal);
    },

    unmountDevice: async (deviceMountPath, signal) => {
      // A folder of the node is not the agent's to unmount.
      if (!isPathWithin(deviceMountPath, localMountsFolder(rootFolder))) return ok(undefined);
      return asStorageResult(await cleanUpMountPoint(deps, deviceMountPath, {}, signal));
    },
  };
}

const localBlocks: BlockStorage = {
  setUpDevice: async () => ok(""),
  mapPodDevice: async ({ spec }) => ok(absolutePath(localPath(spec))),
  unmapPodDevice: async () => ok(undefined),
  tearDownDevice: async () => ok(undefined),
  reconstruct: async ({ volumeSpecName: name }) =>
    ok({ spec: foundLocalVolume(name, "", "Block") }),
};

async function readSource(
  { foreignFiles }: LocalPluginDeps,
  spec: VolumeSpec,
  signal: AbortSignal,
): StorageResult<LocalSource> {
  const path = localPath(spec);
  const kind = path === "" ? undefined : await foreignFiles.kindOf(path, signal);
  const source = localSource(path, kind);
  return source.ok ? source : err(failed(source.error));
}

async function mountDisk(
  deps: LocalPluginDeps,
  { spec, deviceMountPath }: DeviceRequest,
  device: string,
  signal: AbortSignal,
): StorageResult<void> {
  if (spec.source === "inline" || (await deps.mounts.isMountPoint(deviceMountPath))) {
    return ok(undefined);
  }
  await deps.files.ensureFolder(deviceMountPath, 0o750);
  const fileSystem = spec.persistentVolume.spec?.local?.fsType ?? defaultFileSystem;
  const options = mountOptionsOf(spec, spec.readOnly ? ["ro"] : []);
  const disk = { device, target: deviceMountPath, fileSystem, options };
  const mounted = await formatAndMount(deps, disk, signal);
  if (mounted.ok) return ok(undefined);
  await undoMount(deps, deviceMountPath, signal);
  return err(
    failed(
      `local: failed to mount device ${device} at ${deviceMountPath} (fstype: ${fileSystem}), error ${mounted.error.message}`,
    ),
  );
}

/** Binds the folder, or the disk that is mounted, to the pod's folder. */
async function setUp(
  deps: LocalPluginDeps,
  request: PodVolumeRequest,
  { mountPath, path }: { readonly mountPath: string; readonly path: string },
  signal: AbortSignal,
): StorageResult<StoredVolume> {
  const { files, mounts } = deps;
  const { spec, pod, fsGroup, fsGroupChangePolicy } = request;
  const readOnly = spec.source === "persistentVolume" && spec.readOnly;
  const volume = { path, readOnly, managed: !readOnly, seLinuxRelabel: true };
  const problem = climbingPathProblem(mountPath);
  if (problem !== undefined) return err(failed(problem));
  if (await mounts.isMountPoint(path)) return ok(volume);
  const references = await findMountReferences(deps, mountPath, signal);
  if (!references.ok && fsGroup !== undefined) return err(failed(references.error));
  const pods = `${podsDirectory(deps.rootFolder)}/`;
  const users = references.ok ? references.value.filter((user) => user.startsWith(pods)) : [];
  const reported = await reportOtherGroup(deps, request, { mountPath, users }, signal);
  if (!reported.ok) return err(failed(reported.error));
  await files.ensureFolder(path, 0o750);
  const options = joinMountOptions(readOnly ? ["bind", "ro"] : ["bind"], mountOptionsOf(spec));
  const mount = { source: absolutePath(mountPath), target: path, fileSystem: "", options };
  const mounted = await mounts.mount({ ...mount, withoutSystemd: true }, signal);
  if (!mounted.ok) {
    await undoMount(deps, path, signal);
    return err(failed(mounted.error));
  }
  // The first pod's group owns it.
  if (readOnly || users.length > 0) return ok(volume);
  const owned = await setVolumeOwnership(
    deps,
    { pod, path, fsGroup, fsGroupChangePolicy, readOnly },
    signal,
  );
  return owned.ok ? ok(volume) : err(failed(owned.error));
}

/** Another pod uses the volume, so that its owner stays as it is. */
async function reportOtherGroup(
  { foreignFiles, events }: LocalPluginDeps,
  { pod, spec, fsGroup }: PodVolumeRequest,
  { mountPath, users }: { readonly mountPath: string; readonly users: readonly string[] },
  signal: AbortSignal,
): Promise<Result<void, string>> {
  if (fsGroup === undefined || users.length === 0) return ok(undefined);
  const groupId = await foreignFiles.groupOf(mountPath, signal);
  if (groupId === undefined) {
    return err(`failed to check fsGroup for ${mountPath} (it cannot be read)`);
  }
  if (groupId === fsGroup) return ok(undefined);
  const message = `The requested fsGroup is ${fsGroup}, but the volume ${volumeSpecName(spec)} has GID ${groupId}. The volume may not be shareable.`;
  events.record(pod, { type: "Warning", reason: "AlreadyMountedVolume", message });
  return ok(undefined);
}

async function reconstruct(
  deps: LocalPluginDeps,
  { path, volumeSpecName: name }: FoundStorage,
  signal: AbortSignal,
): ReturnType<StoragePlugin["reconstruct"]> {
  const references = await findMountReferences(deps, path, signal);
  if (!references.ok) return err(failed(references.error));
  const folder = localMountsFolder(deps.rootFolder);
  const mounted = references.value.find((reference) => isPathWithin(reference, folder));
  // Which folder of the node it was cannot be seen, and need not be known: nothing of it is the agent's but the pod's mount.
  if (mounted === undefined) {
    return ok({ spec: foundLocalVolume(name, "", "Filesystem"), hasDevice: false });
  }
  const { device } = deviceOfMount(await deps.mounts.list(), mounted);
  return ok({ spec: foundLocalVolume(name, device, "Filesystem") });
}

function isBlock(spec: VolumeSpec): boolean {
  return spec.source === "persistentVolume" && spec.persistentVolume.spec?.volumeMode === "Block";
}

function failed(message: string): StorageError {
  return { kind: "final", message };
}

function asStorageResult(result: Result<void, string>): Result<void, StorageError> {
  return result.ok ? result : err(failed(result.error));
}
