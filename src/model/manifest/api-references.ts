import { quoteText } from "../../lib/go-text.ts";
import type { PodSpec, Volume, VolumeProjection } from "../generated/kubernetes.ts";
import { containersWithPath } from "../validate/containers-with-path.ts";

/** Kinds of API objects that lie beside the pods and so may be referred to. */
export type AllowedReferences = "none" | "configMapsAndSecrets";

const localVolumes: readonly (keyof Volume)[] = [
  "awsElasticBlockStore",
  "azureDisk",
  "cephfs",
  "cinder",
  "downwardAPI",
  "emptyDir",
  "fc",
  "flexVolume",
  "flocker",
  "gcePersistentDisk",
  "gitRepo",
  "hostPath",
  "image",
  "iscsi",
  "nfs",
  "photonPersistentDisk",
  "portworxVolume",
  "quobyte",
  "rbd",
  "scaleIO",
  "storageos",
  "vsphereVolume",
];

/** A reference that is refused, and the field that makes it. */
interface RefusedReference {
  readonly message: string;
  readonly field: string;
}

/**
 * Why a pod that no API server knows cannot be run: the first reference to an object of the API. Where objects lie
 * beside the pods, fields that a node cannot honour anyway are left to its admission, which says more of them.
 */
export function refusedReference(
  spec: PodSpec,
  allowed: AllowedReferences,
): RefusedReference | undefined {
  if (spec.serviceAccountName !== undefined) {
    return reference("serviceaccounts", "spec.serviceAccountName");
  }
  if (allowed === "configMapsAndSecrets") return refusedToken(spec.volumes ?? []);
  if (refersToSecrets(spec)) return reference("secrets", "spec");
  if (refersToConfigMaps(spec)) return reference("configmaps", "spec");
  if ((spec.resourceClaims ?? []).length > 0) {
    return reference("resourceclaims", "spec.resourceClaims");
  }
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    const message = refusedVolume(volume);
    if (message !== undefined) return { message, field: `spec.volumes[${index}]` };
  }
  return undefined;
}

function reference(resource: string, field: string): RefusedReference {
  return { message: refusal(resource), field };
}

function refusal(resource: string): string {
  return `static pods may not reference ${resource}`;
}

function refusedToken(volumes: readonly Volume[]): RefusedReference | undefined {
  for (const [index, { projected }] of volumes.entries()) {
    const source = projected?.sources?.findIndex((one) => one.serviceAccountToken !== undefined);
    if (source === undefined || source < 0) continue;
    const field = `spec.volumes[${index}].projected.sources[${source}].serviceAccountToken`;
    return reference("serviceaccounts (via projected volumes)", field);
  }
  return undefined;
}

function refersToSecrets(spec: PodSpec): boolean {
  return [
    ...(spec.imagePullSecrets ?? []).map(({ name }) => name),
    ...containersWithPath(spec, "").flatMap(({ container }) => [
      ...(container.envFrom ?? []).map(({ secretRef }) => secretRef?.name),
      ...(container.env ?? []).map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ]),
    ...(spec.volumes ?? []).flatMap(secretNames),
  ].some(isName);
}

/** The secrets of a volume; of a volume of two types only the first counts, as below. */
function secretNames(volume: Volume): readonly (string | undefined)[] {
  const { azureFile, cephfs, cinder, flexVolume, projected, rbd, secret } = volume;
  const { scaleIO, iscsi, storageos, csi } = volume;
  if (azureFile !== undefined) return [azureFile.secretName];
  if (cephfs !== undefined) return [cephfs.secretRef?.name];
  if (cinder !== undefined) return [cinder.secretRef?.name];
  if (flexVolume !== undefined) return [flexVolume.secretRef?.name];
  if (projected !== undefined) return (projected.sources ?? []).map((one) => one.secret?.name);
  if (rbd !== undefined) return [rbd.secretRef?.name];
  if (secret !== undefined) return [secret.secretName];
  if (scaleIO !== undefined) return [scaleIO.secretRef?.name];
  if (iscsi !== undefined) return [iscsi.secretRef?.name];
  if (storageos !== undefined) return [storageos.secretRef?.name];
  return [csi?.nodePublishSecretRef?.name];
}

function refersToConfigMaps(spec: PodSpec): boolean {
  return [
    ...containersWithPath(spec, "").flatMap(({ container }) => [
      ...(container.envFrom ?? []).map(({ configMapRef }) => configMapRef?.name),
      ...(container.env ?? []).map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
    ]),
    ...(spec.volumes ?? []).flatMap(({ projected, configMap }) =>
      projected === undefined
        ? [configMap?.name]
        : (projected.sources ?? []).map((one) => one.configMap?.name),
    ),
  ].some(isName);
}

function isName(name: string | undefined): boolean {
  return name !== undefined && name !== "";
}

function refusedVolume(volume: Volume): string | undefined {
  if (localVolumes.some((type) => volume[type] !== undefined)) return undefined;
  if (volume.configMap !== undefined) return refusal("configmaps (via configmap volumes)");
  if (volume.secret !== undefined) return refusal("secrets (via secret volumes)");
  if (volume.csi !== undefined) return refusal("csidrivers (via CSI volumes)");
  if (volume.glusterfs !== undefined) return refusal("endpoints (via glusterFS volumes)");
  if (volume.persistentVolumeClaim !== undefined) return refusal("persistentvolumeclaims");
  if (volume.ephemeral !== undefined) {
    return refusal("persistentvolumeclaims (via ephemeral volumes)");
  }
  if (volume.azureFile !== undefined) return refusal("secrets (via azureFile volumes)");
  if (volume.projected === undefined) {
    return `unknown volume type for volume  ${quoteText(volume.name)}`;
  }
  for (const source of volume.projected.sources ?? []) {
    const refused = refusedProjection(source, volume.name);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

function refusedProjection(source: VolumeProjection, volume: string): string | undefined {
  if (source.configMap !== undefined) return refusal("configmaps (via projected volumes)");
  if (source.secret !== undefined) return refusal("secrets (via projected volumes)");
  if (source.serviceAccountToken !== undefined) {
    return refusal("serviceaccounts (via projected volumes)");
  }
  if (source.clusterTrustBundle !== undefined) return refusal("clustertrustbundles");
  if (source.podCertificate !== undefined) return refusal("podcertificates");
  if (source.downwardAPI !== undefined) return undefined;
  return `unknown source for projected volume ${quoteText(volume)}`;
}
