// Disks of clouds and storage systems that have no driver of their own any more: only their form is checked.
import type {
  AzureDiskVolumeSource,
  FCVolumeSource,
  FlexVolumeSource,
  FlockerVolumeSource,
  StorageOSVolumeSource,
  Volume,
} from "../generated/kubernetes.ts";
import {
  type FieldError,
  type FieldPath,
  invalid,
  invalidForEach,
  notSupported,
  required,
  word,
} from "./field-error.ts";
import { sortedEntries } from "./labels.ts";
import { dnsLabelProblems, rangeProblems } from "./names.ts";

const partitionRange = "must be between 1 and 255, inclusive";

/** Checks the disk that a volume is, if it is one. */
export function validateDiskSource(volume: Volume, field: FieldPath): FieldError[] {
  const { gcePersistentDisk: gce, awsElasticBlockStore: aws, cinder, scaleIO } = volume;
  if (gce !== undefined) {
    return [
      ...requireText(gce.pdName, `${field}.persistentDisk.pdName`),
      ...validatePartition(gce.partition, `${field}.persistentDisk.partition`),
    ];
  }
  if (aws !== undefined) {
    return [
      ...requireText(aws.volumeID, `${field}.awsElasticBlockStore.volumeID`),
      ...validatePartition(aws.partition, `${field}.awsElasticBlockStore.partition`),
    ];
  }
  if (cinder !== undefined) {
    return [
      ...requireText(cinder.volumeID, `${field}.cinder.volumeID`),
      ...requireSecretName(cinder.secretRef, `${field}.cinder`),
    ];
  }
  if (scaleIO !== undefined) {
    return (["gateway", "system", "volumeName"] as const).flatMap((name) =>
      requireText(scaleIO[name], `${field}.scaleIO.${name}`),
    );
  }
  return validateOtherDisk(volume, field);
}

function validateOtherDisk(volume: Volume, field: FieldPath): FieldError[] {
  const { flocker, fc, flexVolume, azureDisk, storageos } = volume;
  if (flocker !== undefined) return validateFlocker(flocker, `${field}.flocker`);
  if (fc !== undefined) return validateFibreChannel(fc, `${field}.fc`);
  if (flexVolume !== undefined) return validateFlexVolume(flexVolume, `${field}.flexVolume`);
  if (azureDisk !== undefined) return validateAzureDisk(azureDisk, `${field}.azureDisk`);
  if (storageos !== undefined) return validateStorageOs(storageos, `${field}.storageos`);
  const { vsphereVolume, photonPersistentDisk, portworxVolume } = volume;
  return [
    ...(vsphereVolume === undefined
      ? []
      : requireText(vsphereVolume.volumePath, `${field}.vsphereVolume.volumePath`)),
    ...(photonPersistentDisk === undefined
      ? []
      : requireText(photonPersistentDisk.pdID, `${field}.photonPersistentDisk.pdID`)),
    ...(portworxVolume === undefined
      ? []
      : requireText(portworxVolume.volumeID, `${field}.portworxVolume.volumeID`)),
  ];
}

/** A text that must be there. */
export function requireText(text: string | undefined, field: FieldPath): FieldError[] {
  return (text ?? "") === "" ? [required(field)] : [];
}

function requireSecretName(
  reference: { readonly name?: string | undefined } | undefined,
  field: FieldPath,
): FieldError[] {
  return reference === undefined ? [] : requireText(reference.name, `${field}.secretRef.name`);
}

function validatePartition(partition: number | undefined, field: FieldPath): FieldError[] {
  if (partition === undefined || (partition >= 0 && partition <= 255)) return [];
  return [invalid(field, partition, partitionRange)];
}

function validateFlocker(
  { datasetName = "", datasetUUID = "" }: FlockerVolumeSource,
  field: FieldPath,
): FieldError[] {
  const errors: FieldError[] = [];
  if (datasetName === "" && datasetUUID === "") {
    errors.push(required(field, "one of datasetName and datasetUUID is required"));
  }
  if (datasetName !== "" && datasetUUID !== "") {
    const detail = "datasetName and datasetUUID can not be specified simultaneously";
    errors.push(invalid(field, "resource", detail));
  }
  if (datasetName.includes("/")) {
    errors.push(invalid(`${field}.datasetName`, datasetName, "must not contain '/'"));
  }
  return errors;
}

function validateFibreChannel(fc: FCVolumeSource, field: FieldPath): FieldError[] {
  const { targetWWNs = [], wwids = [], lun } = fc;
  const errors: FieldError[] = [];
  if (targetWWNs.length === 0 && wwids.length === 0) {
    const detail = "must specify either targetWWNs or wwids, but not both";
    errors.push(required(`${field}.targetWWNs`, detail));
  }
  if (targetWWNs.length > 0 && wwids.length > 0) {
    const detail = "targetWWNs and wwids can not be specified simultaneously";
    errors.push(invalid(`${field}.targetWWNs`, { json: targetWWNs }, detail));
  }
  if (targetWWNs.length === 0) return errors;
  if (lun === undefined) {
    errors.push(required(`${field}.lun`, "lun is required if targetWWNs is specified"));
  } else {
    errors.push(...invalidForEach(`${field}.lun`, lun, rangeProblems(lun, 0, 255)));
  }
  return errors;
}

function validateFlexVolume({ driver, options }: FlexVolumeSource, field: FieldPath): FieldError[] {
  return [
    ...requireText(driver, `${field}.driver`),
    ...sortedEntries(options).flatMap(([name]) => {
      const domain = `.${(name.includes("/") ? name.slice(0, name.indexOf("/")) : name).toLowerCase()}`;
      if (!domain.endsWith(".kubernetes.io") && !domain.endsWith(".k8s.io")) return [];
      const detail = "kubernetes.io and k8s.io namespaces are reserved";
      return [invalid(`${field}.options[${name}]`, name, detail)];
    }),
  ];
}

function validateAzureDisk(disk: AzureDiskVolumeSource, field: FieldPath): FieldError[] {
  const { diskName, diskURI, cachingMode, kind } = disk;
  const errors = [
    ...requireText(diskName, `${field}.diskName`),
    ...requireText(diskURI, `${field}.diskURI`),
    ...oneOf(cachingMode, ["None", "ReadOnly", "ReadWrite"], `${field}.cachingMode`),
    ...oneOf(kind, ["Dedicated", "Managed", "Shared"], `${field}.kind`),
  ];
  if (kind === "Managed" && !diskURI.startsWith("/subscriptions/")) {
    errors.push(
      notSupported(`${field}.diskURI`, diskURI, [
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
      ]),
    );
  }
  if (kind !== undefined && kind !== "Managed" && !diskURI.startsWith("https://")) {
    errors.push(
      notSupported(`${field}.diskURI`, diskURI, [
        "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
      ]),
    );
  }
  return errors;
}

function oneOf(
  value: string | undefined,
  supported: readonly string[],
  field: FieldPath,
): FieldError[] {
  if (value === undefined || supported.includes(value)) return [];
  return [notSupported(field, word(value), supported)];
}

function validateStorageOs(source: StorageOSVolumeSource, field: FieldPath): FieldError[] {
  const { volumeName = "", volumeNamespace = "", secretRef } = source;
  return [
    ...(volumeName === ""
      ? [required(`${field}.volumeName`)]
      : invalidForEach(`${field}.volumeName`, volumeName, dnsLabelProblems(volumeName))),
    ...(volumeNamespace === ""
      ? []
      : invalidForEach(
          `${field}.volumeNamespace`,
          volumeNamespace,
          dnsLabelProblems(volumeNamespace),
        )),
    ...requireSecretName(secretRef, field),
  ];
}
