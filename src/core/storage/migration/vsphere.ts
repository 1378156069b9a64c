import type {
  CSIPersistentVolumeSource,
  VsphereVirtualDiskVolumeSource,
} from "../../../model/generated/kubernetes.ts";
import { type InTreeKind, standIn, withSpec } from "./in-tree-kind.ts";
import { zoneAndRegionTopology } from "./topology.ts";

const driver = "csi.vsphere.vmware.com";
const topologyKeys = {
  zone: "topology.csi.vmware.com/zone",
  region: "topology.csi.vmware.com/region",
};

export const vsphere: InTreeKind = {
  translateVolume({ vsphereVolume: source }) {
    if (source === undefined) return undefined;
    return standIn(`${driver}-${source.volumePath}`, csiSource(source));
  },
  translatePersistentVolume(volume) {
    const source = volume.spec?.vsphereVolume;
    if (source === undefined) return undefined;
    const nodeAffinity = zoneAndRegionTopology(volume, topologyKeys);
    return withSpec(volume, { vsphereVolume: undefined, csi: csiSource(source), nodeAffinity });
  },
};

function csiSource({
  volumePath,
  fsType,
  storagePolicyName = "",
}: VsphereVirtualDiskVolumeSource): CSIPersistentVolumeSource {
  const volumeAttributes: Readonly<Record<string, string>> =
    storagePolicyName === "" ? {} : { storagepolicyname: storagePolicyName };
  return { driver, volumeHandle: volumePath, fsType, volumeAttributes };
}
