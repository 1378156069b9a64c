import type { PersistentVolume, Volume } from "../../model/generated/kubernetes.ts";

/** A volume as something to mount: of the pod itself, or a persistent volume by a claim. */
export type VolumeSpec =
  | { readonly source: "inline"; readonly volume: Volume }
  | {
      readonly source: "persistentVolume";
      readonly persistentVolume: PersistentVolume;
      /** As the pod's reference to the claim asks for; the persistent volume may be read-only by itself. */
      readonly readOnly: boolean;
      /** Of a kind that a CSI driver has taken over: what it is now differs from what the API has. */
      readonly migrated?: boolean;
      /** And it was a volume of the pod itself, which the API has no persistent volume for. */
      readonly inlineForMigration?: boolean;
    };

/** Whether containers get it as a raw device. */
export function isBlockVolume(spec: VolumeSpec): boolean {
  return spec.source === "persistentVolume" && spec.persistentVolume.spec?.volumeMode === "Block";
}

/** The inner name of a volume: of the pod's volume, or of the persistent volume behind its claim. */
export function volumeSpecName(spec: VolumeSpec): string {
  if (spec.source === "inline") return spec.volume.name;
  return spec.persistentVolume.metadata?.name ?? "";
}
