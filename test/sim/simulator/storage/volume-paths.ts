import type { Volume } from "../../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../../src/model/pod.ts";
import { findClaim } from "./storage-objects.ts";

const plugins = "/sim/plugins/kubernetes.io/csi";

/** Where on the node the storage has to be that containers of the pod use. */
export function volumePaths({ metadata, spec }: Pod): readonly string[] {
  const used = new Set<string>();
  for (const each of [...(spec.initContainers ?? []), ...spec.containers]) {
    for (const { name } of each.volumeMounts ?? []) used.add(name);
    for (const { name } of each.volumeDevices ?? []) used.add(name);
  }
  return (spec.volumes ?? [])
    .filter(({ name }) => used.has(name))
    .flatMap((volume) => volumePath(metadata.uid, volume) ?? []);
}

function volumePath(uid: string, volume: Volume): string | undefined {
  const folder = `/sim/pods/${uid}/volumes`;
  if (volume.csi !== undefined) return `${folder}/kubernetes.io~csi/${volume.name}/mount`;
  const claim = findClaim(volume.persistentVolumeClaim?.claimName ?? "");
  if (claim === undefined) return undefined;
  if (claim.isBlock) return `${plugins}/volumeDevices/publish/${claim.volume}/${uid}`;
  if (claim.driver === undefined) return `${folder}/kubernetes.io~local-volume/${claim.volume}`;
  return `${folder}/kubernetes.io~csi/${claim.volume}/mount`;
}
