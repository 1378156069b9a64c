import type { ObjectMeta, Volume } from "../generated/kubernetes.ts";
import { compareQuantity, mustParseQuantity, zeroQuantity } from "../quantity.ts";
import { validatePullPolicy } from "./containers.ts";
import { validateDownwardFiles } from "./downward-files.ts";
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidForEach,
  notSupported,
  required,
  word,
} from "./field-error.ts";
import type { ValidVolumes } from "./mounts.ts";
import { dnsLabelProblems } from "./names.ts";
import { validateFileMode, validateNoBacksteps } from "./paths.ts";
import { validateEphemeralVolume } from "./volume-claims.ts";
import { validateDiskSource } from "./volume-disks.ts";
import { validateConfigMapVolume, validateSecretVolume } from "./volume-keys.ts";
import { validateNetworkSource } from "./volume-networks.ts";
import { validateProjectedVolume } from "./volume-projections.ts";

type SourceName = Exclude<keyof Volume, "name">;

const onlyOneType = "may not specify more than 1 volume type";
const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];

// The order in which types are checked decides which of two is one too many.
const sourceOrder: readonly SourceName[] = [
  "emptyDir",
  "hostPath",
  "gitRepo",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "secret",
  "nfs",
  "iscsi",
  "glusterfs",
  "flocker",
  "persistentVolumeClaim",
  "rbd",
  "cinder",
  "cephfs",
  "quobyte",
  "downwardAPI",
  "fc",
  "flexVolume",
  "configMap",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "storageos",
  "projected",
  "scaleIO",
  "csi",
  "ephemeral",
  "image",
];

// Two refusals name their field otherwise than the API does.
const refusedNames: { readonly [K in SourceName]?: string } = {
  cephfs: "cephFS",
  downwardAPI: "downwarAPI",
};

/** Checks the volumes of a pod; the valid ones are what mounts can refer to. */
export function validateVolumes(
  volumes: readonly Volume[] | undefined,
  meta: ObjectMeta,
  field: FieldPath,
): { readonly errors: readonly FieldError[]; readonly valid: ValidVolumes } {
  const list = volumes ?? [];
  const createdClaims = new Set(
    list
      .filter(({ ephemeral }) => ephemeral !== undefined)
      .map(({ name }) => `${meta.name}-${name}`),
  );
  const valid = new Map<string, Volume>();
  const errors = list.flatMap((volume, index) => {
    const at = `${field}[${index}]`;
    const own = [...validateSource(volume, meta, at), ...validateName(volume.name, valid, at)];
    if (own.length === 0) valid.set(volume.name, volume);
    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim === undefined || !createdClaims.has(claim)) return own;
    const detail = "must not reference a PVC that gets created for an ephemeral volume";
    return [...own, invalid(`${at}.persistentVolumeClaim.claimName`, claim, detail)];
  });
  return { errors, valid };
}

function validateName(name: string, valid: ValidVolumes, field: FieldPath): FieldError[] {
  return [
    ...(name === ""
      ? [required(`${field}.name`)]
      : invalidForEach(`${field}.name`, name, dnsLabelProblems(name))),
    ...(valid.has(name) ? [duplicate(`${field}.name`, name)] : []),
  ];
}

function validateSource(volume: Volume, meta: ObjectMeta, field: FieldPath): FieldError[] {
  const sources = sourceOrder.filter((source) => volume[source] !== undefined);
  if (sources.length === 0) return [required(field, "must specify a volume type")];
  return sources.flatMap((source, index) => [
    ...(index === 0
      ? validateTyped(source, volume, meta, field)
      : [forbidden(`${field}.${refusedNames[source] ?? source}`, onlyOneType)]),
    ...(source === "iscsi" ? validateIscsiName(volume, field) : []),
  ]);
}

function validateIscsiName({ name, iscsi }: Volume, field: FieldPath): FieldError[] {
  const isTooLong = `${name}:${iscsi?.targetPortal}`.length > 64;
  if (iscsi?.initiatorName === undefined || !isTooLong) return [];
  const detail =
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
  return [invalid(`${field}.name`, name, detail)];
}

function validateTyped(
  source: SourceName,
  volume: Volume,
  meta: ObjectMeta,
  field: FieldPath,
): FieldError[] {
  const at = `${field}.${source}`;
  switch (source) {
    case "emptyDir":
      return validateEmptyDir(volume, at);
    case "hostPath":
      return validateHostPath(volume, at);
    case "secret":
      return validateSecretVolume(volume.secret, at);
    case "configMap":
      return validateConfigMapVolume(volume.configMap, at);
    case "downwardAPI":
      return [
        ...validateFileMode(volume.downwardAPI?.defaultMode, `${at}.defaultMode`),
        ...validateDownwardFiles(volume.downwardAPI?.items, at),
      ];
    case "projected":
      return validateProjectedVolume(volume.projected, at);
    case "persistentVolumeClaim":
      return volume.persistentVolumeClaim?.claimName === "" ? [required(`${at}.claimName`)] : [];
    case "ephemeral":
      return validateEphemeralVolume(volume, meta, field);
    case "image":
      return validatePullPolicy(volume.image?.pullPolicy, `${at}.pullPolicy`);
    default: {
      const only = { name: volume.name, [source]: volume[source] };
      return [...validateNetworkSource(only, field), ...validateDiskSource(only, field)];
    }
  }
}

function validateEmptyDir({ emptyDir }: Volume, field: FieldPath): FieldError[] {
  const limit = emptyDir?.sizeLimit;
  if (limit === undefined || compareQuantity(mustParseQuantity(limit), zeroQuantity) >= 0)
    return [];
  return [forbidden(`${field}.sizeLimit`, "SizeLimit field must be a valid resource quantity")];
}

function validateHostPath({ hostPath }: Volume, field: FieldPath): FieldError[] {
  const { path = "", type } = hostPath ?? {};
  if (path === "") return [required(`${field}.path`)];
  return [
    ...validateNoBacksteps(path, `${field}.path`),
    ...(type === undefined || hostPathTypes.includes(type)
      ? []
      : [notSupported(`${field}.type`, word(type), hostPathTypes)]),
  ];
}
