import type {
  DownwardAPIVolumeFile,
  EphemeralVolumeSource,
  PersistentVolume,
  ProjectedVolumeSource,
  Volume,
  VolumeProjection,
} from "../generated/kubernetes.ts";
import { defaultFieldRef, defaultPullPolicy } from "./default-container.ts";
import { withRoundedAmounts } from "./default-resources.ts";

const defaultFileMode = 0o644;
const defaultTokenSeconds = 3600;

/** Fills in what a volume has when it says nothing; a volume of no type is an empty folder. */
export function defaultVolume(volume: Volume): Volume {
  const isUntyped = Object.entries(volume).every(
    ([name, source]) => name === "name" || source === undefined,
  );
  if (isUntyped) return { ...volume, emptyDir: {} };
  return defaultNetworkVolume(defaultFileVolume(volume));
}

function defaultFileVolume(volume: Volume): Volume {
  const { hostPath, secret, configMap, downwardAPI, projected, image, ephemeral } = volume;
  return {
    ...volume,
    ...(hostPath === undefined ? {} : { hostPath: { ...hostPath, type: hostPath.type ?? "" } }),
    ...(secret === undefined ? {} : { secret: withFileMode(secret) }),
    ...(configMap === undefined ? {} : { configMap: withFileMode(configMap) }),
    ...(downwardAPI === undefined
      ? {}
      : { downwardAPI: withFiles(withFileMode(downwardAPI), downwardAPI.items) }),
    ...(projected === undefined ? {} : { projected: defaultProjected(projected) }),
    ...(image === undefined
      ? {}
      : {
          image: { ...image, pullPolicy: image.pullPolicy ?? defaultPullPolicy(image.reference) },
        }),
    ...(ephemeral === undefined ? {} : { ephemeral: defaultEphemeral(ephemeral) }),
  };
}

function defaultNetworkVolume(volume: Volume): Volume {
  const { iscsi, rbd, azureDisk, scaleIO } = volume;
  return {
    ...volume,
    ...(iscsi === undefined
      ? {}
      : { iscsi: { ...iscsi, iscsiInterface: iscsi.iscsiInterface ?? "default" } }),
    ...(rbd === undefined
      ? {}
      : {
          rbd: {
            ...rbd,
            pool: rbd.pool ?? "rbd",
            user: rbd.user ?? "admin",
            keyring: rbd.keyring ?? "/etc/ceph/keyring",
          },
        }),
    ...(azureDisk === undefined
      ? {}
      : {
          azureDisk: {
            ...azureDisk,
            cachingMode: azureDisk.cachingMode ?? "ReadWrite",
            fsType: azureDisk.fsType ?? "ext4",
            readOnly: azureDisk.readOnly ?? false,
            kind: azureDisk.kind ?? "Shared",
          },
        }),
    ...(scaleIO === undefined
      ? {}
      : {
          scaleIO: {
            ...scaleIO,
            storageMode: scaleIO.storageMode ?? "ThinProvisioned",
            fsType: scaleIO.fsType ?? "xfs",
          },
        }),
  };
}

function withFileMode<T extends { readonly defaultMode?: number | undefined }>(source: T): T {
  return { ...source, defaultMode: source.defaultMode ?? defaultFileMode };
}

function withFiles<T>(source: T, items: readonly DownwardAPIVolumeFile[] | undefined): T {
  return items === undefined ? source : { ...source, items: items.map(defaultFile) };
}

function defaultFile(file: DownwardAPIVolumeFile): DownwardAPIVolumeFile {
  const { fieldRef } = file;
  return fieldRef === undefined ? file : { ...file, fieldRef: defaultFieldRef(fieldRef) };
}

function defaultProjected(projected: ProjectedVolumeSource): ProjectedVolumeSource {
  const { sources } = projected;
  return {
    ...withFileMode(projected),
    ...(sources === undefined ? {} : { sources: sources.map(defaultProjection) }),
  };
}

function defaultProjection(source: VolumeProjection): VolumeProjection {
  const { downwardAPI, serviceAccountToken: token } = source;
  return {
    ...source,
    ...(downwardAPI === undefined
      ? {}
      : { downwardAPI: withFiles(downwardAPI, downwardAPI.items) }),
    ...(token === undefined
      ? {}
      : {
          serviceAccountToken: {
            ...token,
            expirationSeconds: token.expirationSeconds ?? defaultTokenSeconds,
          },
        }),
  };
}

function defaultEphemeral(ephemeral: EphemeralVolumeSource): EphemeralVolumeSource {
  const template = ephemeral.volumeClaimTemplate;
  if (template === undefined) return ephemeral;
  const resources = withRoundedAmounts(template.spec.resources);
  return {
    ...ephemeral,
    volumeClaimTemplate: {
      ...template,
      spec: {
        ...template.spec,
        volumeMode: template.spec.volumeMode ?? "Filesystem",
        ...(resources === undefined ? {} : { resources }),
      },
    },
  };
}

/** Sets what a persistent volume that can be mounted here leaves out. */
export function defaultPersistentVolume(volume: PersistentVolume): PersistentVolume {
  const { iscsi, hostPath } = volume.spec ?? {};
  return {
    ...volume,
    spec: {
      persistentVolumeReclaimPolicy: "Retain",
      volumeMode: "Filesystem",
      ...volume.spec,
      ...(iscsi === undefined
        ? {}
        : { iscsi: { ...iscsi, iscsiInterface: iscsi.iscsiInterface ?? "default" } }),
      ...(hostPath === undefined ? {} : { hostPath: { ...hostPath, type: hostPath.type ?? "" } }),
    },
  };
}
