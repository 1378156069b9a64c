import { quoteText } from "../../lib/go-text.ts";
import type { PodSpec, Volume, VolumeProjection } from "../generated/kubernetes.ts";
import { referencedConfigMaps, referencedSecrets } from "../referenced-objects.ts";

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
  if (referencedSecrets(spec).size > 0) return reference("secrets", "spec");
  if (referencedConfigMaps(spec).size > 0) return reference("configmaps", "spec");
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
