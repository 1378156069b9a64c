import { parseGoDecimal } from "../../../lib/go-number.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { ISCSIVolumeSource } from "../../../model/generated/kubernetes.ts";
import type { StorageError } from "../storage-error.ts";
import type { VolumeSpec } from "../volume-spec.ts";
import { diskFolderName, interfaceOf, lunOf, portalAndIqn } from "./iscsi-path.ts";

/** A mounted volume by the folder in which the node mounted its disk: enough to unmount and detach it. */
export function reconstructIscsiVolume(
  volumeName: string,
  deviceMountPath: string,
): Result<VolumeSpec, StorageError> {
  const source = sourceOf(deviceMountPath, "globalPDPath");
  if (!source.ok) return source;
  const iscsi = { ...source.value, iscsiInterface: interfaceOf(deviceMountPath) ?? "" };
  return ok({ source: "inline", volume: { name: volumeName, iscsi } });
}

/** The same for a volume that pods use as a block device, by the folder of its global map path. */
export function reconstructIscsiBlockVolume(
  volumeName: string,
  globalMapPath: string,
): Result<VolumeSpec, StorageError> {
  const source = sourceOf(globalMapPath, "globalMapPath");
  if (!source.ok) return source;
  const iscsiInterface = interfaceOf(globalMapPath);
  if (iscsiInterface === undefined) {
    return failed(`failed to retrieve iface from globalMapPath: ${globalMapPath}`);
  }
  const iscsi = { ...source.value, iscsiInterface };
  const persistentVolume = {
    metadata: { name: volumeName },
    spec: { iscsi, volumeMode: "Block" },
  };
  return ok({ source: "persistentVolume", persistentVolume, readOnly: false });
}

function sourceOf(path: string, kind: string): Result<ISCSIVolumeSource, StorageError> {
  const name = diskFolderName(path);
  if (!name.ok) return name;
  const target = portalAndIqn(name.value);
  if (!target.ok) return target;
  const lunText = lunOf(name.value);
  if (lunText === undefined) return failed(`failed to retrieve lun from ${kind}: ${path}`);
  const lun = parseGoDecimal(lunText);
  if (!lun.ok) return failed(lun.error);
  const { portal, iqn } = target.value;
  return ok({ targetPortal: portal, iqn, lun: Number(BigInt.asIntN(32, lun.value)) });
}

function failed(message: string): Result<never, StorageError> {
  return err({ kind: "final", message });
}
