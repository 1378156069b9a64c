// What a pod has on disk, as a kubelet finds it: whose folders they are is in their paths.
import { joinPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import {
  podSubPathsDirectory,
  podsDirectory,
  podVolumesDirectory,
  unescapePluginName,
} from "../paths/data-paths.ts";
import { csiMountFolder } from "./csi/csi-paths.ts";
import { csiPluginName } from "./csi/csi-volume.ts";

/** The names in a folder, sorted: undefined when it does not exist, an error when it cannot be read. */
export type ListFolder = (path: string) => Result<readonly string[], string> | undefined;

/** The pods that have a data folder; what else lies among these folders is ignored. */
export function podsOnDisk(root: string, list: ListFolder): readonly PodUid[] {
  const folder = podsDirectory(root);
  const names = list(folder);
  if (names?.ok !== true) return [];
  return names.value.filter((name) => list(joinPath(folder, name))?.ok === true).map(podUid);
}

/** Where the volumes of a pod are or would be mounted. One folder that cannot be read hides the rest: nothing is known then. */
export function podVolumePaths(
  root: string,
  uid: PodUid,
  list: ListFolder,
): Result<readonly string[], string> {
  const paths: string[] = [];
  const plugins = foldersIn(podVolumesDirectory(root, uid), list);
  if (!plugins.ok) return plugins;
  for (const pluginFolder of plugins.value) {
    const volumes = pathsIn(pluginFolder, list);
    if (!volumes.ok) return volumes;
    const isCsi = unescapePluginName(lastPart(pluginFolder)) === csiPluginName;
    paths.push(...(isCsi ? csiMounts(volumes.value, list) : volumes.value));
  }
  return ok(paths);
}

/** A CSI volume is mounted below its folder, beside what is recorded about it. */
function csiMounts(folders: readonly string[], list: ListFolder): readonly string[] {
  return folders
    .filter((folder) => {
      const names = list(folder);
      return names?.ok === true && names.value.includes(csiMountFolder);
    })
    .map((folder) => joinPath(folder, csiMountFolder));
}

/** The sub-path mounts of a pod: VOLUME/CONTAINER/INDEX. */
export function podSubPaths(
  root: string,
  uid: PodUid,
  list: ListFolder,
): Result<readonly string[], string> {
  const paths: string[] = [];
  const volumes = foldersIn(podSubPathsDirectory(root, uid), list);
  if (!volumes.ok) return volumes;
  for (const volume of volumes.value) {
    const containers = pathsIn(volume, list);
    if (!containers.ok) return containers;
    for (const container of containers.value) {
      const mounts = pathsIn(container, list);
      if (!mounts.ok) return mounts;
      paths.push(...mounts.value);
    }
  }
  return ok(paths);
}

/** Nothing in a folder that does not exist. */
function foldersIn(folder: string, list: ListFolder): Result<readonly string[], string> {
  const names = list(folder) ?? ok([]);
  return names.ok ? ok(names.value.map((name) => joinPath(folder, name))) : names;
}

function pathsIn(folder: string, list: ListFolder): Result<readonly string[], string> {
  const names = list(folder) ?? err("no such file or directory");
  if (!names.ok) return err(`could not read directory ${folder}: ${names.error}`);
  return ok(names.value.map((name) => joinPath(folder, name)));
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
