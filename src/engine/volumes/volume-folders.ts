import { podPluginDirectory, podVolumeDirectory } from "../../core/paths/data-paths.ts";
import type { PodUid } from "../../model/ids.ts";
import type { PodVolume, VolumePluginDeps } from "./volume-plugin.ts";

export const emptyDirPluginName = "kubernetes.io/empty-dir";

/** Where a volume of a plugin lies. */
export function volumeFolder(
  { rootFolder }: Pick<VolumePluginDeps, "rootFolder">,
  { pod, volume }: PodVolume,
  plugin: string,
): string {
  return podVolumeDirectory(rootFolder, pod.metadata.uid, { plugin, name: volume.name });
}

/** Holds the mark that a volume's folder is complete, as a kubelet leaves it. */
export function readyFolder(rootFolder: string, podUid: PodUid, name: string): string {
  return `${podPluginDirectory(rootFolder, podUid, emptyDirPluginName)}/${name}`;
}

/** The name of the mark of a volume that shows files in a folder of its own. */
export function wrappedName(volumeName: string): string {
  return `wrapped_${volumeName}`;
}
