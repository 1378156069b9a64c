import type {
  PersistentVolumeClaimSpec,
  PersistentVolumeSpec,
  Volume,
} from "../../../src/model/generated/kubernetes.ts";

/** The text of a claim's manifest: of one gibibyte by one node, unless the spec says otherwise. */
export function claimManifest(name: string, spec: Partial<PersistentVolumeClaimSpec> = {}): string {
  return objectManifest("PersistentVolumeClaim", name, {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
    ...spec,
  });
}

/** The text of a persistent volume's manifest: of one gibibyte, kept when its claim goes, unless the spec says otherwise. */
export function volumeManifest(name: string, spec: PersistentVolumeSpec): string {
  return objectManifest("PersistentVolume", name, {
    accessModes: ["ReadWriteOnce"],
    capacity: { storage: "1Gi" },
    persistentVolumeReclaimPolicy: "Retain",
    ...spec,
  });
}

/** A volume of a pod by a claim. */
export function claimed(name: string, claimName: string): Volume {
  return { name, persistentVolumeClaim: { claimName } };
}

function objectManifest(kind: string, name: string, spec: object): string {
  return JSON.stringify({ apiVersion: "v1", kind, metadata: { name }, spec });
}
