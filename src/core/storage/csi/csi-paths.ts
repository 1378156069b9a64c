// Where CSI volumes are on the node, as a kubelet has them: drivers and the other agent find them there.
import { joinPath } from "../../../lib/path.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { PodUid } from "../../../model/ids.ts";
import {
  escapePluginName,
  pluginDevicesDirectory,
  pluginDirectory,
  podVolumeDirectory,
} from "../../paths/data-paths.ts";
import type { StorageError } from "../storage-error.ts";
import type { VolumeSpec } from "../volume-spec.ts";
import { requirePersistentSource } from "./csi-source.ts";
import { csiDriverName, csiPluginName } from "./csi-volume.ts";

/** The hexadecimal SHA-256 of a text. */
export type Sha256 = (text: string) => string;

/** The volume that a driver knows by this handle, on one node: the name of its VolumeAttachment. */
export function csiAttachmentName(
  volume: { readonly handle: string; readonly driver: string; readonly nodeName: string },
  sha256: Sha256,
): string {
  return `csi-${sha256(`${volume.handle}${volume.driver}${volume.nodeName}`)}`;
}

/** The handle of an ephemeral volume, for which the API has none. */
export function csiEphemeralHandle(podUid: PodUid, volumeName: string, sha256: Sha256): string {
  return `csi-${sha256(`${podUid}${volumeName}`)}`;
}

/** Holds a pod's volume and what is recorded about it. */
export function csiPodVolumeDirectory(root: string, podUid: PodUid, specName: string): string {
  const name = escapePluginName(specName);
  return podVolumeDirectory(root, podUid, { plugin: csiPluginName, name });
}

/** Where the driver publishes the volume for a pod. */
export function csiMountPath(root: string, podUid: PodUid, specName: string): string {
  return joinPath(csiPodVolumeDirectory(root, podUid, specName), csiMountFolder);
}

/** The part of a pod's volume folder that a driver mounts. */
export const csiMountFolder = "mount";

/** Where the driver stages the volume once for all pods of the node. */
export function csiDeviceMountPath(
  root: string,
  spec: VolumeSpec,
  sha256: Sha256,
): Result<string, StorageError> {
  const path = csiStagingPath(root, spec, sha256);
  if (path.ok) return path;
  const message = `${csiPluginName}: attacher.GetDeviceMountPath failed to make device mount path: ${path.error}`;
  return err({ kind: "final", message });
}

/** The same, with only the reason why there is none. */
export function csiStagingPath(
  root: string,
  spec: VolumeSpec,
  sha256: Sha256,
): Result<string, string> {
  const driver = csiDriverName(spec) ?? "";
  if (driver === "") return err("makeDeviceMountPath failed, csi source driver name is empty");
  const source = requirePersistentSource(spec);
  if (!source.ok) {
    const problem = "makeDeviceMountPath failed to get CSIPersistentVolumeSource";
    return err(`${csiPluginName}: ${problem}: ${source.error}`);
  }
  const { volumeHandle } = source.value;
  if (volumeHandle === "") {
    return err("makeDeviceMountPath failed, CSIPersistentVolumeSource volume handle is empty");
  }
  const folder = joinPath(pluginDirectory(root, csiPluginName), driver, sha256(volumeHandle));
  return ok(joinPath(folder, csiGlobalMountFolder));
}

/** The part of a volume's folder on the node that a driver mounts. */
export const csiGlobalMountFolder = "globalmount";

/** The folder of the links to a block volume, one for each pod that uses it. */
export function csiGlobalMapPath(root: string, specName: string): string {
  return joinPath(csiBlockVolumeDirectory(root, specName), "dev");
}

/** What is recorded about a block volume. */
export function csiBlockDataDirectory(root: string, specName: string): string {
  return joinPath(csiBlockVolumeDirectory(root, specName), "data");
}

/** All that is kept of a block volume for the node, but where it is staged and published. */
export function csiBlockVolumeDirectory(root: string, specName: string): string {
  return joinPath(pluginDevicesDirectory(root, csiPluginName), escapePluginName(specName));
}

/** Where the driver stages a block volume once for all pods of the node. */
export function csiBlockStagingPath(root: string, specName: string): string {
  return joinPath(pluginDevicesDirectory(root, csiPluginName), "staging", specName);
}

/** The folder of the devices of a block volume, one for each pod. */
export function csiBlockPublishDirectory(root: string, specName: string): string {
  return joinPath(pluginDevicesDirectory(root, csiPluginName), "publish", specName);
}

/** The device that the driver publishes for a pod. */
export function csiBlockPublishPath(root: string, specName: string, podUid: PodUid): string {
  return joinPath(csiBlockPublishDirectory(root, specName), podUid);
}
