import { podInfoContext } from "../../../core/storage/csi/csi-driver-rules.ts";
import {
  csiBlockDataDirectory,
  csiBlockPublishDirectory,
  csiBlockPublishPath,
  csiBlockStagingPath,
  csiBlockVolumeDirectory,
} from "../../../core/storage/csi/csi-paths.ts";
import { blockFileSystem, volumeCapability } from "../../../core/storage/csi/csi-requests.ts";
import {
  csiText,
  isMigrated,
  lifecycleMode,
  requirePersistentSource,
} from "../../../core/storage/csi/csi-source.ts";
import {
  reconstructCsiBlockVolume,
  type VolumeData,
} from "../../../core/storage/csi/volume-data.ts";
import {
  isOperationFinished,
  type StorageError,
  unlessAsked,
} from "../../../core/storage/storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "../../../core/storage/volume-spec.ts";
import { errorText } from "../../../lib/error-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import {
  NodeServiceCapability_RPC_Type as Capability,
  type VolumeCapability,
} from "../../../model/generated/csi.ts";
import type {
  CSIPersistentVolumeSource,
  VolumeAttachment,
} from "../../../model/generated/kubernetes.ts";
import { podUid } from "../../../model/ids.ts";
import type {
  BlockStorage,
  DeviceRequest,
  PodVolumeTarget,
  StorageResult,
} from "../storage-plugin.ts";
import { type CsiCalls, missingField } from "./csi-calls.ts";
import type { CsiPluginDeps } from "./csi-deps.ts";
import { attachmentName, credentials, findAttachment } from "./csi-lookups.ts";
import {
  ensureMountFolder,
  folderMode,
  loadVolumeData,
  openVolumeData,
  saveVolumeData,
} from "./csi-volume-files.ts";

type BlockRequest = Pick<DeviceRequest, "spec" | "pod" | "mayBeThere">;

/** Raw devices: staged once per node, and published for each pod. */
export function csiBlock(deps: CsiPluginDeps): BlockStorage {
  return {
    setUpDevice: async (request, signal) =>
      unlessAsked(await setUpDevice(deps, request, signal), request),
    mapPodDevice: async (request, signal) =>
      unlessAsked(await mapPodDevice(deps, request, signal), request),
    unmapPodDevice: (target, signal) => unmapPodDevice(deps, target, signal),
    tearDownDevice: (target, signal) => tearDownDevice(deps, target, signal),
    publishedFor: async (name) => {
      const folder = csiBlockPublishDirectory(deps.names.rootFolder, name);
      return (await deps.files.list(folder)).map(podUid);
    },
    reconstruct: async ({ volumeSpecName: name, path }) => {
      const dataFolder = csiBlockDataDirectory(deps.names.rootFolder, name);
      const file = await openVolumeData(deps, dataFolder);
      return reconstructCsiBlockVolume({ mapPath: path, dataFolder }, file);
    },
  };
}

function failed(kind: StorageError["kind"], message: string): Result<never, StorageError> {
  return err({ kind, message });
}

/** A device that its driver can be asked for. */
interface BlockVolume extends BlockRequest {
  readonly name: string;
  readonly source: CSIPersistentVolumeSource;
  /** Undefined for a driver without attachments. */
  readonly attachment: VolumeAttachment | undefined;
  readonly calls: CsiCalls;
}

/** Records the volume, before anything of it is there, and finds its attachment and its driver. */
async function openBlockVolume(
  deps: CsiPluginDeps,
  { spec, pod }: BlockRequest,
  operation: { readonly name: string; readonly lookUp: string },
  signal: AbortSignal,
): Promise<Result<BlockVolume, StorageError>> {
  const source = requirePersistentSource(spec);
  if (!source.ok) return failed("final", source.error);
  const name = volumeSpecName(spec);
  const unsaved = await recordBlockVolume(deps, name, source.value);
  if (unsaved !== undefined) return failed("final", unsaved);
  const { driver } = source.value;
  const known = deps.objects.csiDriver(driver);
  if (!known.ok) {
    const problem = `blockMapper.${operation.lookUp} failed to check CSIDriver for ${driver}`;
    return failed("final", csiText(`${problem}: ${known.error}`));
  }
  const attachment = await findAttachment(deps, source.value, signal);
  if (!attachment.ok) {
    const id = attachmentName(deps, source.value);
    const problem = `blockMapper.${operation.lookUp} failed to get volume attachment [id=${id}]`;
    return failed("transient", csiText(`${problem}: ${attachment.error}`));
  }
  const client = deps.clients.open(driver, isMigrated(spec));
  if (!client.ok) return noClient(operation.name, client.error);
  const calls = client.value;
  return ok({ spec, pod, name, source: source.value, attachment: attachment.value, calls });
}

function noClient(operation: string, reason: string): Result<never, StorageError> {
  const problem = `blockMapper.${operation} failed to get CSI client`;
  return failed("transient", csiText(`${problem}: ${reason}`));
}

async function recordBlockVolume(
  deps: CsiPluginDeps,
  name: string,
  source: CSIPersistentVolumeSource,
): Promise<string | undefined> {
  const folder = csiBlockDataDirectory(deps.names.rootFolder, name);
  try {
    await deps.files.ensureFolder(folder, folderMode);
  } catch (error) {
    return csiText(`failed to create data dir ${folder}:  ${errorText(error)}`);
  }
  const unsaved = await saveVolumeData(deps, folder, {
    specVolID: name,
    volumeHandle: source.volumeHandle,
    driverName: source.driver,
    nodeName: deps.names.nodeName,
    attachmentID: attachmentName(deps, source),
  });
  if (unsaved === undefined) return undefined;
  return csiText(`csi.NewBlockVolumeMapper failed to save volume info data: ${unsaved}`);
}

async function setUpDevice(
  deps: CsiPluginDeps,
  request: BlockRequest,
  signal: AbortSignal,
): StorageResult<string> {
  const operation = { name: "SetUpDevice", lookUp: "SetupDevice" };
  const volume = await openBlockVolume(deps, request, operation, signal);
  if (!volume.ok) return volume;
  const staged = await stageBlock(deps, volume.value, signal);
  // Of what may be staged the record stays: without it nothing could be unstaged.
  if (!staged.ok && isOperationFinished(staged.error) && request.mayBeThere !== true) {
    await removeBlockFiles(deps, volume.value.name, signal);
  }
  return staged;
}

async function stageBlock(
  deps: CsiPluginDeps,
  { spec, name, source, attachment, calls }: BlockVolume,
  signal: AbortSignal,
): StorageResult<string> {
  const stages = await calls.supports(Capability.STAGE_UNSTAGE_VOLUME, signal);
  if (!stages.ok) {
    const problem =
      "blockMapper.stageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability";
    return failed("final", csiText(`${problem}: ${stages.error.message}`));
  }
  if (!stages.value) return ok("");
  const { nodeStageSecretRef: reference, volumeHandle: volumeId } = source;
  const secrets = await credentials(deps, reference, signal);
  if (!secrets.ok) {
    const problem = `failed to get NodeStageSecretRef ${reference?.namespace}/${reference?.name}`;
    return failed("transient", csiText(`${problem}: ${secrets.error}`));
  }
  const stagingTargetPath = csiBlockStagingPath(deps.names.rootFolder, name);
  const unmade = await ensureMountFolder(deps, stagingTargetPath);
  if (unmade !== undefined) {
    const problem = `blockMapper.stageVolumeForBlock failed to create dir ${stagingTargetPath}`;
    return failed("final", csiText(`${problem}: ${unmade}`));
  }
  const multiWriter = missingField(volumeId) ?? (await calls.supportsMultiWriter(signal));
  if (!multiWriter.ok) return multiWriter;
  const done = await calls.stage(
    {
      volumeId,
      publishContext: attachment?.status?.attachmentMetadata,
      stagingTargetPath,
      volumeCapability: blockCapability(spec, multiWriter.value),
      secrets: secrets.value,
      volumeContext: source.volumeAttributes,
    },
    signal,
  );
  return done.ok ? ok(stagingTargetPath) : done;
}

function blockCapability(spec: VolumeSpec, singleNodeMultiWriter: boolean): VolumeCapability {
  return volumeCapability({ spec, fsType: blockFileSystem, mountFlags: [], singleNodeMultiWriter });
}

async function mapPodDevice(
  deps: CsiPluginDeps,
  request: BlockRequest,
  signal: AbortSignal,
): StorageResult<string> {
  const operation = { name: "MapPodDevice", lookUp: "MapPodDevice" };
  const volume = await openBlockVolume(deps, request, operation, signal);
  return volume.ok ? publishBlock(deps, volume.value, signal) : volume;
}

async function publishBlock(
  deps: CsiPluginDeps,
  { spec, pod, name, source, attachment, calls }: BlockVolume,
  signal: AbortSignal,
): StorageResult<string> {
  const { objects, files } = deps;
  const { rootFolder } = deps.names;
  const driver = objects.csiDriver(source.driver);
  if (!driver.ok) {
    const problem = "blockMapper.publishVolumeForBlock failed to assemble volume attributes";
    return failed("transient", csiText(`${problem}: ${driver.error}`));
  }
  const { nodePublishSecretRef: reference, volumeHandle: volumeId } = source;
  const secrets = await credentials(deps, reference, signal);
  if (!secrets.ok) {
    const problem = `blockMapper.publishVolumeForBlock failed to get NodePublishSecretRef ${reference?.namespace}/${reference?.name}`;
    return failed("transient", csiText(`${problem}: ${secrets.error}`));
  }
  const folder = csiBlockPublishDirectory(rootFolder, name);
  try {
    await files.ensureFolder(folder, folderMode);
  } catch (error) {
    const problem = `blockMapper.publishVolumeForBlock failed to create dir ${folder}`;
    return failed("final", csiText(`${problem}:  ${errorText(error)}`));
  }
  const multiWriter = missingField(volumeId) ?? (await calls.supportsMultiWriter(signal));
  if (!multiWriter.ok) return multiWriter;
  const targetPath = csiBlockPublishPath(rootFolder, name, pod.metadata.uid);
  const done = await calls.publish(
    {
      volumeId,
      targetPath,
      stagingTargetPath: csiBlockStagingPath(rootFolder, name),
      readonly: spec.source === "persistentVolume" && spec.readOnly,
      publishContext: attachment?.status?.attachmentMetadata,
      volumeContext: {
        ...source.volumeAttributes,
        ...podInfoContext(driver.value, pod, lifecycleMode(spec)),
      },
      secrets: secrets.value,
      volumeCapability: blockCapability(spec, multiWriter.value),
    },
    signal,
  );
  return done.ok ? ok(targetPath) : done;
}

/** The record of a block volume, which is all that is needed to take it down. */
async function loadBlockData(deps: CsiPluginDeps, name: string): StorageResult<VolumeData> {
  const folder = csiBlockDataDirectory(deps.names.rootFolder, name);
  const data = await loadVolumeData(deps, folder);
  if (data.ok) return data;
  const problem = `unmapper failed to load volume data file [${folder}]`;
  return failed("final", csiText(`${problem}: ${data.error.message}`));
}

/** Asked of the driver also when nothing is there: a call that timed out may have published it. */
async function unmapPodDevice(
  deps: CsiPluginDeps,
  { podUid, volumeSpecName: name }: PodVolumeTarget,
  signal: AbortSignal,
): StorageResult<void> {
  const data = await loadBlockData(deps, name);
  if (!data.ok) return data;
  const { driverName = "", volumeHandle = "" } = data.value;
  const client = deps.clients.open(driverName, false);
  if (!client.ok) return noClient("UnmapPodDevice", client.error);
  const path = csiBlockPublishPath(deps.names.rootFolder, name, podUid);
  const done = await client.value.unpublish(volumeHandle, path, signal);
  if (done.ok) return ok(undefined);
  const problem = "blockMapper.unpublishVolumeForBlock failed";
  return failed("final", csiText(`${problem}: ${done.error.message}`));
}

async function tearDownDevice(
  deps: CsiPluginDeps,
  { volumeSpecName: name }: PodVolumeTarget,
  signal: AbortSignal,
): StorageResult<void> {
  const data = await loadBlockData(deps, name);
  if (!data.ok) return data;
  const client = deps.clients.open(data.value.driverName ?? "", false);
  if (!client.ok) return noClient("TearDownDevice", client.error);
  const stagingPath = csiBlockStagingPath(deps.names.rootFolder, name);
  const isStaged = await exists(deps, stagingPath, signal);
  if (!isStaged.ok) return isStaged;
  if (isStaged.value) {
    const volume = { handle: data.value.volumeHandle ?? "", stagingPath };
    const done = await unstageBlock(deps, client.value, volume, signal);
    if (!done.ok) return done;
  }
  await removeBlockFiles(deps, name, signal);
  return ok(undefined);
}

/** Whether anything is at a path that a driver may have mounted something on. */
async function exists(
  { foreignFiles }: CsiPluginDeps,
  path: string,
  signal: AbortSignal,
): StorageResult<boolean> {
  try {
    return ok((await foreignFiles.kindOf(path, signal)) !== undefined);
  } catch (error) {
    signal.throwIfAborted();
    return failed("final", errorText(error));
  }
}

async function unstageBlock(
  { foreignFiles }: CsiPluginDeps,
  calls: CsiCalls,
  { handle, stagingPath }: { readonly handle: string; readonly stagingPath: string },
  signal: AbortSignal,
): StorageResult<void> {
  const stages = await calls.supports(Capability.STAGE_UNSTAGE_VOLUME, signal);
  if (!stages.ok) {
    const problem =
      "blockMapper.unstageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability";
    return failed("final", csiText(`${problem}: ${stages.error.message}`));
  }
  if (!stages.value) return ok(undefined);
  const done = await calls.unstage(handle, stagingPath, signal);
  if (!done.ok) {
    const problem = "blockMapper.unstageVolumeForBlock failed";
    return failed("final", csiText(`${problem}: ${done.error.message}`));
  }
  try {
    await foreignFiles.removeTree(stagingPath, signal);
    return ok(undefined);
  } catch (error) {
    signal.throwIfAborted();
    const problem = `blockMapper.unstageVolumeForBlock failed to remove staging path after NodeUnstageVolume() error [${stagingPath}]`;
    return failed("final", csiText(`${problem}: ${errorText(error)}`));
  }
}

/** Nothing uses the volume by now. What cannot be removed is left for the next time. */
async function removeBlockFiles(
  { names: { rootFolder }, files, foreignFiles, log }: CsiPluginDeps,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await files.removeEntry(csiBlockPublishDirectory(rootFolder, name));
    await files.removeEntry(csiBlockStagingPath(rootFolder, name));
    await foreignFiles.removeTree(csiBlockVolumeDirectory(rootFolder, name), signal);
  } catch (error) {
    signal.throwIfAborted();
    log.warn("cannot remove the folders of a block volume", {
      volume: name,
      error: errorText(error),
    });
  }
}
