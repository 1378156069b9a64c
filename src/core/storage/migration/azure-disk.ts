import { err, ok, type Result } from "../../../lib/result.ts";
import type {
  AzureDiskVolumeSource,
  CSIPersistentVolumeSource,
} from "../../../model/generated/kubernetes.ts";
import { type InTreeKind, standIn, withSpec } from "./in-tree-kind.ts";

const driver = "disk.csi.azure.com";
const managedKind = "Managed";

export const azureDisk: InTreeKind = {
  translateVolume({ azureDisk: source }) {
    if (source === undefined) return undefined;
    const { cachingMode } = source;
    // A pod's own volume may have an empty mode, which says nothing.
    const csi = csiSource({ ...source, cachingMode: cachingMode === "" ? undefined : cachingMode });
    return csi.ok ? standIn(source.diskURI, csi.value) : csi;
  },
  translatePersistentVolume(volume) {
    const source = volume.spec?.azureDisk;
    if (source === undefined) return undefined;
    const csi = csiSource(source);
    return csi.ok ? withSpec(volume, { azureDisk: undefined, csi: csi.value }) : csi;
  },
};

function csiSource({
  kind = managedKind,
  cachingMode,
  diskURI,
  fsType,
  readOnly,
}: AzureDiskVolumeSource): Result<CSIPersistentVolumeSource, string> {
  if (kind.toLowerCase() !== managedKind.toLowerCase()) {
    return err(`kind(${kind}) is not supported in csi migration`);
  }
  return ok({
    driver,
    volumeHandle: diskURI,
    readOnly: readOnly === true ? true : undefined,
    fsType: fsType === "" ? undefined : fsType,
    volumeAttributes: {
      kind: managedKind,
      ...(cachingMode === undefined ? {} : { cachingmode: cachingMode }),
      ...(fsType === undefined ? {} : { fstype: fsType }),
    },
  });
}
