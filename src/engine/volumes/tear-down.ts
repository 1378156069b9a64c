import {
  escapePluginName,
  podDirectory,
  podPluginDirectory,
  podPluginsDirectory,
  podSubPathsDirectory,
  podVolumeDevicesDirectory,
  podVolumesDirectory,
} from "../../core/paths/data-paths.ts";
import { localPluginName } from "../../core/storage/local-volume.ts";
import { assert } from "../../lib/assert.ts";
import type { PodUid } from "../../model/ids.ts";
import { emptyDirPluginName, readyFolder, wrappedName } from "./volume-folders.ts";
import type { VolumePluginDeps } from "./volume-plugin.ts";
import { volumePlugins } from "./volume-plugins.ts";

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

/** What a volume left in another agent's time is not understood: it stays, with all that lies above it. */
function foreign(path: string): Error {
  return new Error(`${path} is a volume that this node does not understand: it is left alone`);
}

/**
 * Removes what a pod's volumes have on this node once none of them is mounted, in an order that a restart can take up. Only
 * folders of the node itself may still be: memory, and what containers mounted in them.
 */
export async function removeVolumeFolders(
  deps: TearDownDeps,
  uid: PodUid,
  signal: AbortSignal,
): Promise<void> {
  const { rootFolder, mounts, foreignFiles } = deps;
  assert(!uid.includes("/") && uid !== "..", `${uid} is not the UID of a pod`);
  await refuseDevices(deps, uid);
  const present = await presentFolders(deps, uid);
  if (present.length === 0) return;
  // Most pods have none, and a node has so many others that looking for them in each folder is what a removal costs.
  const mounted = await mounts.listBelow(podDirectory(rootFolder, uid));
  const volumes = podVolumesDirectory(rootFolder, uid);
  const own = volumePlugins.map(({ name }) => `${volumes}/${escapePluginName(name)}/`);
  for (const { mountPoint } of mounted) {
    const isOwn = own.some((folder) => mountPoint.startsWith(folder));
    if (mountPoint.startsWith(`${volumes}/`) && !isOwn) throw foreign(mountPoint);
  }
  for (const folder of present) {
    // Only what was judged above: the removal stops at what is mounted meanwhile.
    for (const { mountPoint } of mounted) {
      if (mountPoint.startsWith(`${folder}/`)) await mounts.unmount(mountPoint, signal);
    }
    await foreignFiles.removeTree(folder, signal);
  }
}

/** The folders of a pod's volumes that are there, in the order in which they are removed. */
async function presentFolders(
  { files, rootFolder }: TearDownDeps,
  uid: PodUid,
): Promise<readonly string[]> {
  const folder = podDirectory(rootFolder, uid);
  const plugins = podPluginsDirectory(rootFolder, uid);
  const present = new Set([
    ...(await files.list(folder)).map((name) => `${folder}/${name}`),
    ...(await files.list(plugins)).map((name) => `${plugins}/${name}`),
  ]);
  return [
    podSubPathsDirectory(rootFolder, uid),
    // Without the marks a volume counts as unfinished, which it is from here on.
    podPluginDirectory(rootFolder, uid, emptyDirPluginName),
    podVolumesDirectory(rootFolder, uid),
    // Of claims that go with the pod.
    podPluginDirectory(rootFolder, uid, localPluginName),
  ].filter((path) => present.has(path));
}

/** A link to a raw device is all that shows that the pod has it. */
async function refuseDevices({ files, rootFolder }: TearDownDeps, uid: PodUid): Promise<void> {
  const folder = podVolumeDevicesDirectory(rootFolder, uid);
  for (const plugin of await files.list(folder)) {
    const [name] = await files.list(`${folder}/${plugin}`);
    if (name !== undefined) throw foreign(`${folder}/${plugin}/${name}`);
  }
}

/** Removes a volume that is a folder of its pod. */
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
