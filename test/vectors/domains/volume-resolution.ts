import {
  nodeFactsOf,
  type ResolvedVolume,
  resolveVolumes,
  type VolumeLookups,
  type VolumeNodeFacts,
} from "../../../src/core/storage/resolve-volumes.ts";
import { volumeSpecName } from "../../../src/core/storage/volume-spec.ts";
import { compareText } from "../../../src/lib/compare-text.ts";
import { err, ok, type Result } from "../../../src/lib/result.ts";
import type {
  CSIDriver,
  ObjectMeta,
  PersistentVolume,
  PersistentVolumeClaim,
} from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { formatQuantity } from "../../../src/model/quantity.ts";
import { withoutNulls } from "../encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly pods: readonly Pod[];
  readonly persistentVolumeClaims?: readonly PersistentVolumeClaim[];
  readonly persistentVolumes?: readonly PersistentVolume[];
  readonly csiDrivers?: readonly CSIDriver[];
  readonly apiErrors?: Readonly<Record<string, string>>;
}

export const volumeResolution: VectorDomain = vectorDomain<Input>("volume-resolution", (input) => {
  const lookups = lookupsOf(input);
  const facts = new Map<string, VolumeNodeFacts>();
  const pods = withoutNulls(input.pods).map((pod) => {
    const { volumes, errors } = resolveVolumes(pod, lookups);
    for (const volume of volumes) {
      facts.set(volume.volumeName, nodeFactsOf(volume, facts.get(volume.volumeName)));
    }
    return { uid: pod.metadata.uid, volumes, errors };
  });
  const byUid = <T>(value: (pod: (typeof pods)[number]) => T): Record<string, T> =>
    Object.fromEntries(pods.map((pod) => [pod.uid, value(pod)]));
  return {
    volumes: pods
      .flatMap(({ volumes }) => volumes)
      .map((volume) => ({ ...volume, ...facts.get(volume.volumeName) }))
      .toSorted((a, b) => compareText(orderKey(a), orderKey(b)))
      .map(encodeVolume),
    errors: Object.fromEntries(
      pods
        .filter(({ errors }) => errors.length > 0)
        .map(({ uid, errors }) => [uid, [...new Set(errors)].toSorted()]),
    ),
    processed: byUid(({ errors }) => errors.length === 0),
    volumeNamesByPod: byUid(({ volumes }) =>
      Object.fromEntries(
        volumes.flatMap(({ outerVolumeSpecNames, volumeName }) =>
          outerVolumeSpecNames.map((name) => [name, volumeName]),
        ),
      ),
    ),
  };
});

function orderKey({ podUid, volumeName }: ResolvedVolume): string {
  return `${podUid} ${volumeName}`;
}

function lookupsOf(input: Input): VolumeLookups {
  const { persistentVolumeClaims = [], persistentVolumes = [], csiDrivers = [] } = input;
  const found = <T extends { readonly metadata?: ObjectMeta | undefined }>(
    resource: string,
    name: string,
    objects: readonly T[],
  ): Result<T, string> => {
    const error = input.apiErrors?.[`${resource}/${name}`];
    if (error !== undefined) return err(error);
    const object = objects.find(({ metadata }) => metadata?.name === name);
    return object === undefined ? err(`${resource} "${name}" not found`) : ok(withoutNulls(object));
  };
  return {
    origin: "API server",
    claim: (namespace, name) =>
      found(
        "persistentvolumeclaims",
        name,
        persistentVolumeClaims.filter(({ metadata }) => metadata?.namespace === namespace),
      ),
    persistentVolume: (name) => found("persistentvolumes", name, persistentVolumes),
    csiDriver: (name) => csiDrivers.find(({ metadata }) => metadata?.name === name),
  };
}

function encodeVolume(volume: ResolvedVolume): object {
  const { spec, desiredSizeLimitBytes: limit, desiredPersistentVolumeSize: size } = volume;
  const isMigrated = spec.source === "persistentVolume" && spec.migrated === true;
  return {
    pod: volume.podUid,
    volumeName: volume.volumeName,
    outerVolumeSpecNames: volume.outerVolumeSpecNames,
    innerVolumeSpecName: volumeSpecName(spec),
    plugin: volume.plugin,
    readOnly: volume.readOnly,
    attachable: volume.attachable,
    deviceMountable: volume.deviceMountable,
    volumeMode: volume.volumeMode,
    volumeGidValue: volume.volumeGidValue,
    desiredSizeLimit: limit === undefined ? undefined : Number(limit),
    desiredPersistentVolumeSize: size && formatQuantity(size),
    requiresRemount: volume.requiresRemount,
    supportsMountOptions: volume.supportsMountOptions,
    seLinuxLabel: "",
    source: spec.source,
    csiDriver: volume.csiDriver,
    ...(isMigrated
      ? {
          migrated: true,
          inlineForMigration: spec.inlineForMigration === true,
          csi: spec.persistentVolume.spec?.csi,
        }
      : {}),
  };
}
