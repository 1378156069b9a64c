import type { MountedVolume } from "../../core/mount/container-mounts.ts";
import { mountOptionsOf } from "../../core/storage/mount-options.ts";
import { isOperationFinished, type StorageError } from "../../core/storage/storage-error.ts";
import { volumeMessage } from "../../core/storage/volume-messages.ts";
import { volumeNodeAffinityProblem } from "../../core/storage/volume-node-affinity.ts";
import type { NodeVolume, PodMount, WantedVolume } from "../../core/storage/volume-state.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { PersistentVolume } from "../../model/generated/kubernetes.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Claims } from "./claims.ts";
import type { DeviceRequest, StoragePlugin } from "./storage-plugin.ts";
import type { VolumeExpansion } from "./volume-expansion.ts";
import type { VolumeStates } from "./volume-states.ts";

export interface MountDeps {
  readonly states: VolumeStates;
  readonly expansion: VolumeExpansion;
  readonly nodeLabels: NodeLabels;
  readonly claims: Pick<Claims, "recordVolume">;
}

interface NodeLabels {
  /** Those of the node's object. */
  readonly labels: Readonly<Record<string, string>>;
}

/** A volume of a pod that is to be mounted. */
export interface MountTarget {
  readonly uid: PodUid;
  readonly wanted: WantedVolume;
  readonly plugin: StoragePlugin;
  readonly isRemount: boolean;
}

/** Attached, the device mounted once for the node, set up for the pod, and as large as its claim: one after the other. */
export async function mountVolume(
  deps: MountDeps,
  target: MountTarget,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const { states } = deps;
  const { uid, wanted, plugin } = target;
  const { volumeName: name, spec, pod } = wanted;
  const failed = (prefix: string, { message }: Pick<StorageError, "message">) =>
    err(volumeMessage(prefix, wanted, `: ${message}`));
  const refusal = whyNotMount(deps, target);
  if (refusal !== undefined) return failed(refusal.prefix, refusal);
  const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
  let devicePath = states.volume(name)?.devicePath ?? "";
  if (wanted.attachable && plugin.device !== undefined) {
    const attached = await plugin.device.waitForAttach({ spec, pod }, signal);
    if (!attached.ok) return failed("MountVolume.WaitForAttach failed", attached.error);
    devicePath = attached.value;
  }
  let deviceMountPath = "";
  if (wanted.deviceMountable && plugin.device !== undefined) {
    const path = await plugin.device.mountPath(spec, signal);
    if (!path.ok) return failed("MountVolume.GetDeviceMountPath failed", path.error);
    deviceMountPath = path.value;
    const { seLinuxLabel } = wanted;
    const mayBeThere = states.volume(name)?.device === "uncertain";
    const device = { spec, pod, devicePath, deviceMountPath, fsGroup, seLinuxLabel, mayBeThere };
    const mounted = await mountDevice(deps, target, device, signal);
    if (!mounted.ok) {
      reportMismatch(deps, wanted, mounted.error);
      return failed("MountVolume.MountDevice failed", mounted.error);
    }
  }
  const done = await plugin.setUp(
    {
      spec,
      pod,
      devicePath,
      deviceMountPath,
      fsGroup,
      fsGroupChangePolicy,
      seLinuxLabel: wanted.seLinuxLabel,
      isRemount: target.isRemount,
      reconstructed: isFoundMount(states.pod(uid).mounts.get(name)),
      mayBeThere: states.pod(uid).mounts.has(name),
    },
    signal,
  );
  if (!done.ok) {
    reportMismatch(deps, wanted, done.error);
    noteMountError(states, target, done.error);
    return failed("MountVolume.SetUp failed", done.error);
  }
  const { path, readOnly, managed, seLinuxRelabel: selinuxRelabel } = done.value;
  const selinuxLabeled = wanted.seLinuxLabel !== "";
  const kind = wanted.plugin;
  const volume: MountedVolume = { kind, path, readOnly, managed, selinuxRelabel, selinuxLabeled };
  const paths = { devicePath, deviceStagePath: deviceMountPath, deviceMountPath: path };
  const expanded = await deps.expansion.duringMount(target, paths, signal);
  if (!expanded.ok) {
    states.setMount(uid, name, uncertainMount(states, target, volume));
    return failed("MountVolume.Setup failed while expanding volume", expanded.error);
  }
  states.setMount(uid, name, completeMount(target, volume));
  return ok(undefined);
}

/** A disk with another file system than its persistent volume asks for is reported on the volume too. */
function reportMismatch(
  { claims }: MountDeps,
  wanted: WantedVolume,
  { isFileSystemMismatch, message: reason }: StorageError,
): void {
  const { spec } = wanted;
  if (isFileSystemMismatch !== true || spec.source !== "persistentVolume") return;
  claims.recordVolume(spec.persistentVolume, {
    type: "Warning",
    reason: "FailedMountOnFilesystemMismatch",
    message: volumeMessage("MountVolume failed", wanted, reason),
  });
}

/** Why it must not be mounted for this pod. */
export function whyNotMount(
  { states, nodeLabels }: Pick<MountDeps, "states" | "nodeLabels">,
  { uid, wanted }: MountTarget,
): { readonly prefix: string; readonly message: string } | undefined {
  const { spec, volumeName, supportsMountOptions } = wanted;
  if (spec.source !== "persistentVolume") return undefined;
  const affinity = volumeNodeAffinityProblem(spec.persistentVolume, nodeLabels.labels);
  if (affinity !== undefined)
    return { prefix: "MountVolume.NodeAffinity check failed", message: affinity };
  if (!supportsMountOptions && mountOptionsOf(spec).length > 0) {
    const message = "mount options are not supported for this volume type";
    return { prefix: "MountVolume.MountOptionSupport check failed", message };
  }
  if (isReadWriteOncePod(spec.persistentVolume) && states.isUsedByOthers(uid, volumeName)) {
    const message =
      "volume uses the ReadWriteOncePod access mode and is already in use by another pod";
    return { prefix: "MountVolume.SetUp failed", message };
  }
  return undefined;
}

function isReadWriteOncePod({ spec }: PersistentVolume): boolean {
  const modes = spec?.accessModes ?? [];
  return modes.length === 1 && modes[0] === "ReadWriteOncePod";
}

/** The device is mounted once for all pods of the node. */
async function mountDevice(
  { states }: MountDeps,
  { wanted, plugin }: MountTarget,
  request: DeviceRequest,
  signal: AbortSignal,
): Promise<Result<void, StorageError>> {
  const { volumeName: name } = wanted;
  const { devicePath, deviceMountPath } = request;
  if (plugin.device === undefined || states.volume(name)?.device === "mounted")
    return ok(undefined);
  const done = await plugin.device.mountDevice(request, signal);
  if (done.ok) {
    states.changeVolume(name, deviceChange("mounted", devicePath, deviceMountPath));
    states.noteLabel(name, wanted.seLinuxLabel);
    return done;
  }
  noteDeviceError(states, { name, devicePath, deviceMountPath }, done.error);
  if (states.volume(name)?.device === "uncertain") states.noteLabel(name, wanted.seLinuxLabel);
  return done;
}

interface DeviceTarget {
  readonly name: string;
  readonly devicePath: string;
  readonly deviceMountPath: string;
}

/** An error after which the driver may go on by itself leaves the device uncertain: it has to be unmounted later. */
export function noteDeviceError(
  states: VolumeStates,
  { name, devicePath, deviceMountPath }: DeviceTarget,
  error: StorageError,
): void {
  const volume = states.volume(name);
  if (volume === undefined) return;
  if (isOperationFinished(error) && volume.device === "uncertain" && !volume.isFound) {
    states.changeVolume(name, deviceChange("not-mounted", "", ""));
  } else if (error.kind === "uncertain" && volume.device === "not-mounted") {
    states.changeVolume(name, deviceChange("uncertain", devicePath, deviceMountPath));
  }
}

/** An empty device path leaves the known one. */
export function deviceChange(
  device: NodeVolume["device"],
  devicePath: string,
  deviceMountPath: string,
): Partial<NodeVolume> {
  return devicePath === "" ? { device, deviceMountPath } : { device, deviceMountPath, devicePath };
}

/** The same for what was set up for the pod. */
export function noteMountError(
  states: VolumeStates,
  target: MountTarget,
  error: StorageError,
): void {
  const { uid, wanted } = target;
  const mount = states.pod(uid).mounts.get(wanted.volumeName);
  if (isOperationFinished(error) && mount?.state === "uncertain" && !mount.isFound) {
    states.removeMount(uid, wanted.volumeName);
  } else if (error.kind === "uncertain" && mount === undefined) {
    states.setMount(uid, wanted.volumeName, uncertainMount(states, target, undefined));
  }
}

function isFoundMount(mount: PodMount | undefined): boolean {
  return mount?.state === "uncertain" && mount.isFound;
}

/** It is there as it should be. */
export function completeMount({ wanted }: MountTarget, volume: MountedVolume): PodMount {
  return { ...mountOf(wanted, volume), state: "mounted", isFound: false };
}

/** It may be there; one that was found on disk stays one. */
export function uncertainMount(
  states: VolumeStates,
  { uid, wanted }: MountTarget,
  volume: MountedVolume | undefined,
): PodMount {
  const isFound = states.pod(uid).mounts.get(wanted.volumeName)?.isFound === true;
  return { ...mountOf(wanted, volume), state: "uncertain", isFound };
}

function mountOf(
  { spec, plugin, volumeGidValue: groupId, seLinuxLabel }: WantedVolume,
  volume: MountedVolume | undefined,
): Omit<PodMount, "state" | "isFound"> {
  return { spec, plugin, volume, groupId, seLinuxLabel, isRemountDue: false };
}
