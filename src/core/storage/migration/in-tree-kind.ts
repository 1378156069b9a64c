import { ok, type Result } from "../../../lib/result.ts";
import type {
  CSIPersistentVolumeSource,
  PersistentVolume,
  PersistentVolumeSpec,
  Volume,
} from "../../../model/generated/kubernetes.ts";

/** A kind of volume that Kubernetes once mounted itself, and that a CSI driver serves now. */
export interface InTreeKind {
  /** The volume of a pod as a persistent one of the driver; undefined when it is of another kind. */
  translateVolume(
    volume: Volume,
    podNamespace: string,
  ): Result<PersistentVolume, string> | undefined;
  /** The persistent volume as one of the driver; undefined when it is of another kind. */
  translatePersistentVolume(
    persistentVolume: PersistentVolume,
  ): Result<PersistentVolume, string> | undefined;
}

/** A persistent volume that stands for a pod's own. */
export function standIn(
  name: string,
  csi: CSIPersistentVolumeSource,
  accessMode = "ReadWriteOnce",
): Result<PersistentVolume, never> {
  const spec = { csi, accessModes: [accessMode], volumeMode: "Filesystem" };
  return ok({ metadata: { name }, spec });
}

/** The persistent volume with changes of its spec. */
export function withSpec(
  persistentVolume: PersistentVolume,
  changes: Partial<PersistentVolumeSpec>,
): Result<PersistentVolume, never> {
  return ok({ ...persistentVolume, spec: { ...persistentVolume.spec, ...changes } });
}
