import {
  mountsSeLinuxContext,
  requiresAttach,
} from "../../../core/storage/csi/csi-driver-rules.ts";
import { attachmentStatus } from "../../../core/storage/csi/csi-errors.ts";
import { csiDeviceMountPath } from "../../../core/storage/csi/csi-paths.ts";
import { mountFlags, volumeCapability } from "../../../core/storage/csi/csi-requests.ts";
import {
  csiText,
  isMigrated,
  requirePersistentSource,
} from "../../../core/storage/csi/csi-source.ts";
import { parseVolumeData } from "../../../core/storage/csi/volume-data.ts";
import {
  isOperationFinished,
  type StorageError,
  unlessAsked,
} from "../../../core/storage/storage-error.ts";
import type { VolumeSpec } from "../../../core/storage/volume-spec.ts";
import { splitPath } from "../../../lib/path.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import { NodeServiceCapability_RPC_Type as Capability } from "../../../model/generated/csi.ts";
import type { CSIPersistentVolumeSource } from "../../../model/generated/kubernetes.ts";
import type { DeviceRequest, DeviceStorage, StorageResult } from "../storage-plugin.ts";
import { type CsiCalls, missingField } from "./csi-calls.ts";
import type { CsiPluginDeps } from "./csi-deps.ts";
import { findCsiDevices } from "./csi-found-devices.ts";
import { attachmentName, credentials, publishContext } from "./csi-lookups.ts";
import {
  ensureMountFolder,
  readVolumeData,
  removeAfterFailure,
  removeMountFolder,
  saveVolumeData,
} from "./csi-volume-files.ts";

/** Attaching and staging: what is done with a volume once per node. */
export function csiDevices(deps: CsiPluginDeps): DeviceStorage {
  return {
    isAttachable: (spec) => isAttachable(deps, spec),
    isMountable: (spec) => spec.source === "persistentVolume",
    waitForAttach: ({ spec }, signal) => waitForAttach(deps, spec, signal),
    mountPath: (spec) => csiDeviceMountPath(deps.names.rootFolder, spec, deps.names.sha256),
    mountDevice: async (request, signal) =>
      unlessAsked(await mountDevice(deps, request, signal), request),
    unmountDevice: (deviceMountPath, signal) => unmountDevice(deps, deviceMountPath, signal),
    find: () => findCsiDevices(deps),
  };
}

function failed(kind: StorageError["kind"], message: string): Result<never, StorageError> {
  return err({ kind, message });
}

function isAttachable({ objects }: CsiPluginDeps, spec: VolumeSpec): Result<boolean, StorageError> {
  if (spec.source === "inline") return ok(false);
  const source = requirePersistentSource(spec);
  if (!source.ok) return failed("final", source.error);
  const driver = objects.csiDriver(source.value.driver);
  return driver.ok ? ok(requiresAttach(driver.value)) : failed("final", driver.error);
}

/** A driver finds the device itself: its name is the attachment's. */
async function waitForAttach(
  deps: CsiPluginDeps,
  spec: VolumeSpec,
  signal: AbortSignal,
): StorageResult<string> {
  const source = requirePersistentSource(spec);
  if (!source.ok) {
    const problem = "attacher.WaitForAttach failed to extract CSI volume source";
    return failed("final", csiText(`${problem}: ${source.error}`));
  }
  const name = attachmentName(deps, source.value);
  const volume = `volume ${source.value.volumeHandle}`;
  const found = await deps.objects.volumeAttachment(name, signal);
  if (!found.ok) {
    const { message } = found.error;
    return failed("final", `${volume} has GET error for volume attachment ${name}: ${message}`);
  }
  const attached = attachmentStatus(found.value);
  if (!attached.ok) return attached;
  if (attached.value) return ok(name);
  return failed("final", `${volume} is not attached for volume attachment ${name}`);
}

async function mountDevice(
  deps: CsiPluginDeps,
  request: DeviceRequest,
  signal: AbortSignal,
): StorageResult<void> {
  const { spec, deviceMountPath } = request;
  const source = requirePersistentSource(spec);
  if (!source.ok) {
    const problem = "attacher.MountDevice failed to get CSIPersistentVolumeSource";
    return failed("final", csiText(`${problem}: ${source.error}`));
  }
  const client = deps.clients.open(source.value.driver, isMigrated(spec));
  if (!client.ok) {
    const problem = "attacher.MountDevice failed to create newCsiDriverClient";
    return failed("transient", csiText(`${problem}: ${client.error}`));
  }
  const stages = await client.value.supports(Capability.STAGE_UNSTAGE_VOLUME, signal);
  if (!stages.ok) return stages;
  const context = await publishContext(deps, source.value, signal);
  if (!context.ok) return failed("transient", context.error);
  const reference = stages.value ? source.value.nodeStageSecretRef : undefined;
  const secrets = await credentials(deps, reference, signal);
  if (!secrets.ok) {
    const { namespace = "", name = "" } = reference ?? {};
    const problem = `fetching NodeStageSecretRef ${namespace}/${name} failed`;
    return failed("transient", `${problem}: ${secrets.error}`);
  }
  const seLinuxLabel = stagingLabel(deps, source.value, request);
  if (!seLinuxLabel.ok) return seLinuxLabel;
  const unmade = await ensureMountFolder(deps, deviceMountPath);
  if (unmade !== undefined) {
    const problem = `attacher.MountDevice failed to create dir "${deviceMountPath}"`;
    return failed("final", csiText(`${problem}:  ${unmade}`));
  }
  if (!stages.value) return ok(undefined);
  const staging = {
    calls: client.value,
    source: source.value,
    publishContext: context.value,
    secrets: secrets.value,
    seLinuxLabel: seLinuxLabel.value,
  };
  return stage(deps, request, staging, signal);
}

/** The SELinux context to mount with; undefined when the driver or the request does without. */
function stagingLabel(
  { objects }: CsiPluginDeps,
  { driver: name }: CSIPersistentVolumeSource,
  { seLinuxLabel }: DeviceRequest,
): Result<string | undefined, StorageError> {
  const driver = objects.csiDriver(name);
  if (!driver.ok) {
    const problem = "failed to query for SELinuxMount support";
    return failed("final", csiText(`${problem}: ${driver.error}`));
  }
  return ok(mountsSeLinuxContext(driver.value) && seLinuxLabel !== "" ? seLinuxLabel : undefined);
}

interface Staging {
  readonly calls: CsiCalls;
  readonly source: CSIPersistentVolumeSource;
  readonly publishContext: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly seLinuxLabel: string | undefined;
}

async function stage(
  deps: CsiPluginDeps,
  request: DeviceRequest,
  { calls, source, publishContext: context, secrets, seLinuxLabel }: Staging,
  signal: AbortSignal,
): StorageResult<void> {
  const { spec, deviceMountPath, fsGroup } = request;
  const groups = await calls.supports(Capability.VOLUME_MOUNT_GROUP, signal);
  if (!groups.ok) {
    const problem =
      "attacher.MountDevice failed to determine if the node service has VOLUME_MOUNT_GROUP capability";
    return failed("transient", csiText(`${problem}: ${groups.error.message}`));
  }
  const { volumeHandle, driver } = source;
  const data = { volumeHandle, driverName: driver, seLinuxMountContext: seLinuxLabel };
  const unsaved = await saveVolumeData(deps, splitPath(deviceMountPath).folder, data);
  if (unsaved !== undefined) {
    await removeAfterFailure(deps, deviceMountPath);
    return failed("final", csiText(`failed to save volume info data: ${unsaved}`));
  }
  const multiWriter = missingField(volumeHandle) ?? (await calls.supportsMultiWriter(signal));
  const asked = multiWriter.ok
    ? await calls.stage(
        {
          volumeId: volumeHandle,
          publishContext: context,
          stagingTargetPath: deviceMountPath,
          volumeCapability: volumeCapability({
            spec,
            fsType: source.fsType ?? "",
            mountFlags: mountFlags(spec, seLinuxLabel),
            fsGroup: groups.value ? fsGroup : undefined,
            singleNodeMultiWriter: multiWriter.value,
          }),
          secrets,
          volumeContext: source.volumeAttributes,
        },
        signal,
      )
    : multiWriter;
  const done = unlessAsked(asked, request);
  if (!done.ok && isOperationFinished(done.error)) await removeAfterFailure(deps, deviceMountPath);
  return done;
}

async function unmountDevice(
  deps: CsiPluginDeps,
  deviceMountPath: string,
  signal: AbortSignal,
): StorageResult<void> {
  const folder = splitPath(deviceMountPath).folder;
  const file = await readVolumeData(deps, folder);
  if (file.ok && file.value === undefined) return ok(undefined);
  const data = parseVolumeData(folder, file.ok ? ok(file.value ?? "") : file);
  if (!data.ok) return data;
  const { driverName = "", volumeHandle = "" } = data.value;
  const client = deps.clients.open(driverName, false);
  if (!client.ok) {
    const problem = "attacher.UnmountDevice failed to create newCsiDriverClient";
    return failed("transient", csiText(`${problem}: ${client.error}`));
  }
  const stages = await client.value.supports(Capability.STAGE_UNSTAGE_VOLUME, signal);
  if (!stages.ok) {
    const problem = "attacher.UnmountDevice failed to check whether STAGE_UNSTAGE_VOLUME set";
    return failed("final", csiText(`${problem}: ${stages.error.message}`));
  }
  if (stages.value) {
    const done = await client.value.unstage(volumeHandle, deviceMountPath, signal);
    if (!done.ok) {
      return failed("final", csiText(`attacher.UnmountDevice failed: ${done.error.message}`));
    }
  }
  const removed = await removeMountFolder(deps, deviceMountPath);
  if (removed.ok) return ok(undefined);
  return failed("final", csiText(`failed to clean up global mount ${folder}: ${removed.error}`));
}
