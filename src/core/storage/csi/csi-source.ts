import { err, ok, type Result } from "../../../lib/result.ts";
import type { CSIPersistentVolumeSource } from "../../../model/generated/kubernetes.ts";
import type { VolumeSpec } from "../volume-spec.ts";
import { csiPluginName, ephemeralCsiSource, persistentCsiSource } from "./csi-volume.ts";

/** An ephemeral volume lives and ends with its pod; others are persistent volumes. */
export type LifecycleMode = "Ephemeral" | "Persistent";

/** A message as upstream's plugin prefixes it. */
export function csiText(text: string): string {
  return `${csiPluginName}: ${text}`;
}

export function lifecycleMode(spec: VolumeSpec): LifecycleMode {
  return spec.source === "inline" ? "Ephemeral" : "Persistent";
}

/** Refuses a volume that is not a persistent one of a CSI driver. */
export function requirePersistentSource(
  spec: VolumeSpec,
): Result<CSIPersistentVolumeSource, string> {
  const source = persistentCsiSource(spec);
  if (source !== undefined) return ok(source);
  if (ephemeralCsiSource(spec) === undefined) return err("volume source not found in volume.Spec");
  return err("unexpected api.CSIVolumeSource found in volume.Spec");
}

/** Whether a pod may only read it: by its claim reference, or by the inline volume. */
export function isCsiReadOnly(spec: VolumeSpec): boolean {
  return spec.source === "inline" ? spec.volume.csi?.readOnly === true : spec.readOnly;
}

/** Whether it was translated from an in-tree kind of volume. */
export function isMigrated(spec: VolumeSpec): boolean {
  return spec.source === "persistentVolume" && spec.migrated === true;
}
