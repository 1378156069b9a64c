import {
  escapePluginName,
  podDirectory,
  podPluginDirectory,
  podSubPathsDirectory,
  podVolumesDirectory,
} from "../../core/paths/data-paths.ts";
import { assert } from "../../lib/assert.ts";
import type { PodUid } from "../../model/ids.ts";
import { emptyDirPluginName, readyFolder, wrappedName } from "./volume-folders.ts";
import type { VolumePluginDeps } from "./volume-plugin.ts";

export type TearDownDeps = Pick<
  VolumePluginDeps,
  "rootFolder" | "files" | "foreignFiles" | "mounts"
>;

/** A volume as the disk shows it. */
export interface FoundVolume {
  /** The folder of its plugin, such as kubernetes.io~configmap. */
  readonly pluginFolder: string;
  readonly name: string;
}

/** The volumes of a pod that have a folder, also of past agents. */
export async function listVolumes(
  { files, rootFolder }: TearDownDeps,
  uid: PodUid,
): Promise<readonly FoundVolume[]> {
  const folder = podVolumesDirectory(rootFolder, uid);
  const found: FoundVolume[] = [];
  for (const pluginFolder of await files.list(folder)) {
    const names = await files.list(`${folder}/${pluginFolder}`);
    found.push(...names.map((name) => ({ pluginFolder, name })));
  }
  return found;
}

export function isFoundVolume(found: FoundVolume, plugin: string, name: string): boolean {
  return found.name === name && found.pluginFolder === escapePluginName(plugin);
}

/** Removes everything that a pod's volumes have on this node, in an order that a restart can take up. */
export async function tearDownPod(
  deps: TearDownDeps,
  uid: PodUid,
  signal: AbortSignal,
): Promise<void> {
  const { rootFolder, mounts, foreignFiles } = deps;
  assert(!uid.includes("/") && uid !== "..", `${uid} is not the UID of a pod`);
  // Most pods have none, and a node has so many others that looking for them in each folder is what a removal costs.
  const hasMounts = (await mounts.listBelow(podDirectory(rootFolder, uid))).length > 0;
  for (const folder of [
    podSubPathsDirectory(rootFolder, uid),
    // Without the marks a volume counts as unfinished, which it is from here on.
    podPluginDirectory(rootFolder, uid, emptyDirPluginName),
    podVolumesDirectory(rootFolder, uid),
  ]) {
    if (hasMounts) await removeWithMounts(deps, folder, signal);
    else await foreignFiles.removeTree(folder, signal);
  }
}

/** The same for a single volume. */
export async function tearDownVolume(
  deps: TearDownDeps,
  uid: PodUid,
  { pluginFolder, name }: FoundVolume,
  signal: AbortSignal,
): Promise<void> {
  const { rootFolder } = deps;
  await removeWithMounts(deps, `${podSubPathsDirectory(rootFolder, uid)}/${name}`, signal);
  for (const mark of [name, wrappedName(name)]) {
    await removeWithMounts(deps, readyFolder(rootFolder, uid, mark), signal);
  }
  const folder = `${podVolumesDirectory(rootFolder, uid)}/${pluginFolder}/${name}`;
  await removeWithMounts(deps, folder, signal);
}

// Containers that mount inside a volume leave mounts there; the removal stops at any that appears meanwhile.
export async function removeWithMounts(
  { mounts, foreignFiles }: Pick<TearDownDeps, "mounts" | "foreignFiles">,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  for (const { mountPoint } of await mounts.listBelow(path)) {
    await mounts.unmount(mountPoint, signal);
  }
  await foreignFiles.removeTree(path, signal);
}
