import { joinPath } from "../../../lib/path.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import { pluginDevicesDirectory, pluginDirectory } from "../../paths/data-paths.ts";
import { folderNameProblem } from "../folder-name-problem.ts";
import type { StorageError } from "../storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "../volume-spec.ts";

export const fcPluginName = "kubernetes.io/fc";

/** A disk by the target's world wide names and a LUN, or by identifiers of its own. */
export interface FcDisk {
  readonly targetWwns: readonly string[];
  /** Empty for a disk by identifiers. */
  readonly lun: string;
  /** As udev writes them: with underscores for blanks. */
  readonly wwids: readonly string[];
}

export interface FcVolume {
  readonly disk: FcDisk;
  readonly volumeName: string;
  readonly readOnly: boolean;
  readonly fsType: string;
}

/** What a volume says about its disk; `user` is who needs it, for the message. */
export function fcVolume(
  spec: VolumeSpec,
  user: "mounter" | "mapper",
): Result<FcVolume, StorageError> {
  const source = spec.source === "inline" ? spec.volume.fc : spec.persistentVolume.spec?.fc;
  if (source === undefined) return failed("Spec does not reference a FibreChannel volume type");
  const { targetWWNs: targetWwns = [], lun, wwids = [] } = source;
  const isByLun = lun !== undefined && targetWwns.length > 0;
  if (!isByLun && wwids.length === 0) {
    return failed(`fc: no fc disk information found. failed to make a new ${user}`);
  }
  const problem = folderNameProblem("fc", { targetWWNs: targetWwns, wwids });
  if (problem !== undefined) return failed(problem);
  const disk: FcDisk = isByLun
    ? { targetWwns, lun: String(lun), wwids: [] }
    : { targetWwns, lun: "", wwids: wwids.map((wwid) => wwid.replaceAll(" ", "_")) };
  return ok({
    disk,
    volumeName: volumeSpecName(spec),
    readOnly: spec.source === "inline" ? source.readOnly === true : spec.readOnly,
    fsType: source.fsType ?? "",
  });
}

/** Where the node mounts the disk once: plugins/kubernetes.io/fc/WWN-WWN-lun-LUN or …/WWID-WWID. */
export function fcDeviceMountPath(rootFolder: string, disk: FcDisk): string {
  return joinPath(pluginDirectory(rootFolder, fcPluginName), diskFolder(disk));
}

/** The folder of a disk that pods use as a block device. */
export function fcGlobalMapPath(rootFolder: string, disk: FcDisk): string {
  return joinPath(pluginDevicesDirectory(rootFolder, fcPluginName), diskFolder(disk));
}

function diskFolder({ targetWwns, lun, wwids }: FcDisk): string {
  return targetWwns.length > 0 ? `${targetWwns.join("-")}-lun-${lun}` : wwids.join("-");
}

function failed(message: string): Result<never, StorageError> {
  return err({ kind: "final", message });
}
