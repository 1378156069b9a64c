import { ownValue } from "../../../lib/own-value.ts";
import { err } from "../../../lib/result.ts";
import type {
  AzureFileVolumeSource,
  CSIPersistentVolumeSource,
} from "../../../model/generated/kubernetes.ts";
import { type InTreeKind, standIn, withSpec } from "./in-tree-kind.ts";

const driver = "file.csi.azure.com";
const resourceGroupAnnotation = "kubernetes.io/azure-file-resource-group";

/** What a handle is made of beside the share. */
interface ShareOwner {
  readonly resourceGroup: string;
  readonly volumeName: string;
  readonly secretNamespace: string;
}

export const azureFile: InTreeKind = {
  translateVolume({ name: volumeName, azureFile: source }, podNamespace) {
    if (source === undefined) return undefined;
    const secretNamespace = podNamespace === "" ? "default" : podNamespace;
    const csi = csiSource(source, { resourceGroup: "", volumeName, secretNamespace });
    return standIn(csi.volumeHandle, csi, "ReadWriteMany");
  },
  translatePersistentVolume(volume) {
    const source = volume.spec?.azureFile;
    if (source === undefined) return undefined;
    const claimNamespace = volume.spec?.claimRef?.namespace ?? "";
    const secretNamespace = source.secretNamespace ?? claimNamespace;
    if (secretNamespace === "") {
      return err("could not find a secret namespace in PersistentVolumeSource or ClaimRef");
    }
    const { name: volumeName = "", annotations } = volume.metadata ?? {};
    const resourceGroup = ownValue(annotations, resourceGroupAnnotation) ?? "";
    const csi = csiSource(source, { resourceGroup, volumeName, secretNamespace });
    return withSpec(volume, { azureFile: undefined, csi });
  },
};

function csiSource(
  { secretName, shareName, readOnly }: AzureFileVolumeSource,
  { resourceGroup, volumeName, secretNamespace }: ShareOwner,
): CSIPersistentVolumeSource {
  const parts = [resourceGroup, accountName(secretName), shareName, volumeName, secretNamespace];
  return {
    driver,
    volumeHandle: parts.join("#"),
    readOnly: readOnly === true ? true : undefined,
    volumeAttributes: { sharename: shareName },
    nodeStageSecretRef: { name: secretName, namespace: secretNamespace },
  };
}

/** By the name that the secret of an account has by convention; any other name is taken for the account's. */
function accountName(secretName: string): string {
  const prefix = "azure-storage-account-";
  const suffix = "-secret";
  const start = secretName.indexOf(prefix) + prefix.length;
  const end = secretName.lastIndexOf(suffix);
  return secretName.includes(prefix) && end > start ? secretName.slice(start, end) : secretName;
}
