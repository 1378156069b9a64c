import { parseGoDecimal } from "../../../lib/go-number.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { FCVolumeSource } from "../../../model/generated/kubernetes.ts";
import type { StorageError } from "../storage-error.ts";
import type { VolumeSpec } from "../volume-spec.ts";

/** A mounted volume by the folder in which the node mounted its disk. */
export function reconstructFcVolume(
  volumeName: string,
  deviceMountPath: string,
): Result<VolumeSpec, StorageError> {
  const fc = sourceOf(deviceMountPath);
  return fc.ok ? ok({ source: "inline", volume: { name: volumeName, fc: fc.value } }) : fc;
}

/** The same for a volume that pods use as a block device, by the folder of its global map path. */
export function reconstructFcBlockVolume(
  volumeName: string,
  globalMapPath: string,
): Result<VolumeSpec, StorageError> {
  const fc = sourceOf(globalMapPath);
  if (!fc.ok) return fc;
  const persistentVolume = {
    metadata: { name: volumeName },
    spec: { fc: fc.value, volumeMode: "Block" },
  };
  return ok({ source: "persistentVolume", persistentVolume, readOnly: false });
}

/** WWN-WWN-lun-LUN, or WWID-WWID. A disk by identifiers has LUN 0, as upstream's has. */
function sourceOf(path: string): Result<FCVolumeSource, StorageError> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const parts = name.split("-");
  if (parts.length < 2 || parts.at(-2) !== "lun") return ok({ wwids: parts, lun: 0 });
  if (parts.length === 2) return failed(`no wwn in: ${name}`);
  const lun = parseGoDecimal(parts.at(-1) ?? "");
  if (!lun.ok) return failed(lun.error);
  return ok({ targetWWNs: parts.slice(0, -2), lun: Number(BigInt.asIntN(32, lun.value)) });
}

function failed(message: string): Result<never, StorageError> {
  return err({
    kind: "final",
    message: `failed to retrieve volume plugin information from globalPDPath: ${message}`,
  });
}
