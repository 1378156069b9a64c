import { err, ok, type Result } from "../../../lib/result.ts";
import type { PersistentVolume } from "../../../model/generated/kubernetes.ts";
import type { VolumeSpec } from "../volume-spec.ts";
import { awsEbs } from "./aws-ebs.ts";
import { azureDisk } from "./azure-disk.ts";
import { azureFile } from "./azure-file.ts";
import { cinder } from "./cinder.ts";
import { gcePersistentDisk } from "./gce-pd.ts";
import type { InTreeKind } from "./in-tree-kind.ts";
import { portworx } from "./portworx.ts";
import { vsphere } from "./vsphere.ts";

const kinds: readonly InTreeKind[] = [
  awsEbs,
  azureDisk,
  azureFile,
  cinder,
  gcePersistentDisk,
  portworx,
  vsphere,
];

/** The spec as the CSI driver serves it that has taken over its kind; any other spec as it is. */
export function translateToCsi(spec: VolumeSpec, podNamespace: string): Result<VolumeSpec, string> {
  const isInline = spec.source === "inline";
  for (const kind of kinds) {
    const translated: Result<PersistentVolume, string> | undefined = isInline
      ? kind.translateVolume(spec.volume, podNamespace)
      : kind.translatePersistentVolume(spec.persistentVolume);
    if (translated === undefined) continue;
    if (!translated.ok) return err(`failed to translate in-tree pv to CSI: ${translated.error}`);
    return ok({
      source: "persistentVolume",
      persistentVolume: translated.value,
      readOnly: isInline ? false : spec.readOnly,
      migrated: true,
      ...(isInline ? { inlineForMigration: true } : {}),
    });
  }
  return ok(spec);
}
