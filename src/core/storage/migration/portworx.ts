import { ownValue } from "../../../lib/own-value.ts";
import type {
  CSIPersistentVolumeSource,
  PersistentVolume,
  PortworxVolumeSource,
  SecretReference,
} from "../../../model/generated/kubernetes.ts";
import { type InTreeKind, standIn, withSpec } from "./in-tree-kind.ts";

const driver = "pxd.portworx.com";

export const portworx: InTreeKind = {
  translateVolume({ portworxVolume: source }) {
    if (source === undefined) return undefined;
    const accessMode = source.readOnly === true ? "ReadOnlyMany" : "ReadWriteOnce";
    return standIn(`${driver}-${source.volumeID}`, csiSource(source), accessMode);
  },
  translatePersistentVolume(volume) {
    const source = volume.spec?.portworxVolume;
    if (source === undefined) return undefined;
    const secret = authenticationSecret(volume);
    const csi: CSIPersistentVolumeSource = {
      ...csiSource(source),
      controllerPublishSecretRef: secret,
      nodeStageSecretRef: secret,
      nodePublishSecretRef: secret,
      controllerExpandSecretRef: secret,
      nodeExpandSecretRef: secret,
    };
    return withSpec(volume, { portworxVolume: undefined, csi });
  },
};

function csiSource({ volumeID, fsType }: PortworxVolumeSource): CSIPersistentVolumeSource {
  return { driver, volumeHandle: volumeID, fsType, volumeAttributes: {} };
}

function authenticationSecret({ metadata }: PersistentVolume): SecretReference | undefined {
  const prefix = "openstorage.io/auth-secret";
  const name = ownValue(metadata?.annotations, `${prefix}-name`);
  const namespace = ownValue(metadata?.annotations, `${prefix}-namespace`);
  return name === undefined || namespace === undefined ? undefined : { name, namespace };
}
