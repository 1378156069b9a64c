import type { Volume } from "../../model/generated/kubernetes.ts";
import { type Pod, podContainers } from "../../model/pod.ts";

/** The volumes that a container of the pod mounts; the others are never set up. */
export function usedVolumes(pod: Pod): readonly Volume[] {
  const used = new Set(
    podContainers(pod).flatMap(({ container }) => [
      ...(container.volumeMounts ?? []).map(({ name }) => name),
      ...(container.volumeDevices ?? []).map(({ name }) => name),
    ]),
  );
  return (pod.spec.volumes ?? []).filter(({ name }) => used.has(name));
}
