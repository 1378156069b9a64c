import type { PodSpec, Volume } from "./generated/kubernetes.ts";
import { containersWithPath } from "./validate/containers-with-path.ts";

/** The names of the secrets that a pod refers to. */
export function referencedSecrets(spec: PodSpec): ReadonlySet<string> {
  return names([
    ...(spec.imagePullSecrets ?? []).map(({ name }) => name),
    ...containersWithPath(spec, "").flatMap(({ container }) => [
      ...(container.envFrom ?? []).map(({ secretRef }) => secretRef?.name),
      ...(container.env ?? []).map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ]),
    ...(spec.volumes ?? []).flatMap(secretNames),
  ]);
}

/** The names of the config maps that a pod refers to. */
export function referencedConfigMaps(spec: PodSpec): ReadonlySet<string> {
  return names([
    ...containersWithPath(spec, "").flatMap(({ container }) => [
      ...(container.envFrom ?? []).map(({ configMapRef }) => configMapRef?.name),
      ...(container.env ?? []).map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
    ]),
    ...(spec.volumes ?? []).flatMap(({ projected, configMap }) =>
      projected === undefined
        ? [configMap?.name]
        : (projected.sources ?? []).map((one) => one.configMap?.name),
    ),
  ]);
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

function names(all: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(all.flatMap((name) => (name === undefined || name === "" ? [] : [name])));
}
