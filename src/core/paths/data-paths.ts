// The agent's data folder, laid out as a kubelet's, so that either can take over from the other.

import { joinPath } from "../../lib/path.ts";
import type { PodUid } from "../../model/ids.ts";

/** The folder of all pods' data. */
export function podsDirectory(root: string): string {
  return joinPath(root, "pods");
}

/** The data folder of one pod. */
export function podDirectory(root: string, podUid: PodUid): string {
  return joinPath(podsDirectory(root), podUid);
}

/** The hosts file that is mounted into the containers of a pod. */
export function podHostsFile(root: string, podUid: PodUid): string {
  return joinPath(podDirectory(root, podUid), "etc-hosts");
}

/** The folder of all volumes of a pod. */
export function podVolumesDirectory(root: string, podUid: PodUid): string {
  return joinPath(podDirectory(root, podUid), "volumes");
}

/** The folder of one volume of a pod. */
export function podVolumeDirectory(
  root: string,
  podUid: PodUid,
  volume: { readonly plugin: string; readonly name: string },
): string {
  return joinPath(podVolumesDirectory(root, podUid), escapePluginName(volume.plugin), volume.name);
}

/** The folder of all sub-path mounts of a pod: <volume>/<container>/<index of the mount>. */
export function podSubPathsDirectory(root: string, podUid: PodUid): string {
  return joinPath(podDirectory(root, podUid), "volume-subpaths");
}

/** What volume plugins keep for one pod. */
export function podPluginsDirectory(root: string, podUid: PodUid): string {
  return joinPath(podDirectory(root, podUid), "plugins");
}

/** What one volume plugin keeps for one pod. */
export function podPluginDirectory(root: string, podUid: PodUid, plugin: string): string {
  return joinPath(podPluginsDirectory(root, podUid), escapePluginName(plugin));
}

/** The folder of the termination messages of a pod. */
export function podContainersDirectory(root: string, podUid: PodUid): string {
  return joinPath(podDirectory(root, podUid), "containers");
}

/** The folder of the termination messages of one container. */
export function podContainerDirectory(root: string, podUid: PodUid, containerName: string): string {
  return joinPath(podContainersDirectory(root, podUid), containerName);
}

/** A plugin name as a folder name: "kubernetes.io/empty-dir" lies in "kubernetes.io~empty-dir". */
export function escapePluginName(plugin: string): string {
  return plugin.replaceAll("/", "~");
}
