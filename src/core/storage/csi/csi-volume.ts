import type {
  CSIPersistentVolumeSource,
  CSIVolumeSource,
} from "../../../model/generated/kubernetes.ts";
import type { VolumeSpec } from "../volume-spec.ts";

export const csiPluginName = "kubernetes.io/csi";

/** The source of a volume that a pod asks its driver for itself; it lives and ends with the pod. */
export function ephemeralCsiSource(spec: VolumeSpec): CSIVolumeSource | undefined {
  return spec.source === "inline" ? spec.volume.csi : undefined;
}

export function persistentCsiSource(spec: VolumeSpec): CSIPersistentVolumeSource | undefined {
  return spec.source === "persistentVolume" ? spec.persistentVolume.spec?.csi : undefined;
}

/** Undefined for a volume of another kind. */
export function csiDriverName(spec: VolumeSpec): string | undefined {
  return (ephemeralCsiSource(spec) ?? persistentCsiSource(spec))?.driver;
}
