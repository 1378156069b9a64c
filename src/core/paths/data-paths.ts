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

/** The folder of the block devices of a pod. */
export function podVolumeDevicesDirectory(root: string, podUid: PodUid): string {
  return joinPath(podDirectory(root, podUid), "volumeDevices");
}

/** The folder of the block devices of a pod that are one plugin's: links by the names of the volumes. */
export function podVolumeDeviceDirectory(root: string, podUid: PodUid, plugin: string): string {
  return joinPath(podVolumeDevicesDirectory(root, podUid), escapePluginName(plugin));
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

/** What volume plugins keep on the node for all pods; drivers put their sockets below it too. */
export function pluginsDirectory(root: string): string {
  return joinPath(root, "plugins");
}

/** Where plugins put the sockets by which they register. */
export function pluginRegistryDirectory(root: string): string {
  return joinPath(root, "plugins_registry");
}

/** Where the socket is at which programs ask which devices and processors pods have. */
export function podResourcesDirectory(root: string): string {
  return joinPath(root, "pod-resources");
}

/** Where a kubelet keeps small facts that a restart must not lose. @upstream */
export function checkpointsDirectory(root: string): string {
  return joinPath(root, "checkpoints");
}

/** What one volume plugin keeps on the node. Unlike in a pod's folder, its name is not escaped. */
export function pluginDirectory(root: string, plugin: string): string {
  return joinPath(pluginsDirectory(root), plugin);
}

/** What one volume plugin keeps of block devices on the node. */
export function pluginDevicesDirectory(root: string, plugin: string): string {
  return joinPath(pluginDirectory(root, plugin), "volumeDevices");
}

/** A plugin name as a folder name: "kubernetes.io/empty-dir" lies in "kubernetes.io~empty-dir". */
export function escapePluginName(plugin: string): string {
  return plugin.replaceAll("/", "~");
}

/** The plugin name of such a folder. */
export function unescapePluginName(folder: string): string {
  return folder.replaceAll("~", "/");
}
