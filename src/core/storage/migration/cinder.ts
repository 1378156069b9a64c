import type {
  CinderVolumeSource,
  CSIPersistentVolumeSource,
} from "../../../model/generated/kubernetes.ts";
import { type InTreeKind, standIn, withSpec } from "./in-tree-kind.ts";
import { driverTopology } from "./topology.ts";

const driver = "cinder.csi.openstack.org";
const zoneKey = "topology.cinder.csi.openstack.org/zone";

export const cinder: InTreeKind = {
  translateVolume({ cinder: source }) {
    if (source === undefined) return undefined;
    return standIn(`${driver}-${source.volumeID}`, csiSource(source));
  },
  translatePersistentVolume(volume) {
    const source = volume.spec?.cinder;
    if (source === undefined) return undefined;
    const nodeAffinity = driverTopology(volume, zoneKey);
    return withSpec(volume, { cinder: undefined, csi: csiSource(source), nodeAffinity });
  },
};

function csiSource({
  volumeID,
  readOnly,
  fsType,
}: Pick<CinderVolumeSource, "volumeID" | "readOnly" | "fsType">): CSIPersistentVolumeSource {
  return {
    driver,
    volumeHandle: volumeID,
    readOnly: readOnly === true ? true : undefined,
    fsType,
    volumeAttributes: {},
  };
}
