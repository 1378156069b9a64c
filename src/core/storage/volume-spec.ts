import type { PersistentVolume, Volume } from "../../model/generated/kubernetes.ts";

/** A volume as something to mount: of the pod itself, or a persistent volume by a claim. */
export type VolumeSpec =
  | { readonly source: "inline"; readonly volume: Volume }
  | {
      readonly source: "persistentVolume";
      readonly persistentVolume: PersistentVolume;
      /** As the pod's reference to the claim asks for; the persistent volume may be read-only by itself. */
      readonly readOnly: boolean;
      /** An inline volume of an in-tree kind, which is translated to a persistent volume of a CSI driver. */
      readonly inlineForMigration?: boolean;
    };

/** The inner name of a volume: of the pod's volume, or of the persistent volume behind its claim. */
export function volumeSpecName(spec: VolumeSpec): string {
  if (spec.source === "inline") return spec.volume.name;
  return spec.persistentVolume.metadata?.name ?? "";
}
