import { csiText } from "../../../core/storage/csi/csi-source.ts";
import {
  formatVolumeData,
  parseVolumeData,
  type VolumeData,
  volumeDataPath,
} from "../../../core/storage/csi/volume-data.ts";
import type { StorageError } from "../../../core/storage/storage-error.ts";
import { errorText } from "../../../lib/error-text.ts";
import { joinPath, splitPath } from "../../../lib/path.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { CsiPluginDeps } from "./csi-deps.ts";

/** What a kubelet gives the folders of volumes. */
export const folderMode = 0o750;
const dataFileMode = 0o644;

type FileDeps = Pick<CsiPluginDeps, "files" | "mounts">;

/** Records what is needed to take the volume down, without the API and by another agent. */
export async function saveVolumeData(
  { files }: FileDeps,
  folder: string,
  data: VolumeData,
): Promise<string | undefined> {
  const path = volumeDataPath(folder);
  try {
    await files.writeFile(path, formatVolumeData(data), dataFileMode);
    return undefined;
  } catch (error) {
    return csiText(`failed to save volume data file ${path}: ${errorText(error)}`);
  }
}

/** The text of a record; undefined when there is none. */
export async function readVolumeData(
  { files }: FileDeps,
  folder: string,
): Promise<Result<string | undefined, string>> {
  try {
    return ok(await files.readText(volumeDataPath(folder)));
  } catch (error) {
    return err(`open ${volumeDataPath(folder)}: ${errorText(error)}`);
  }
}

/** The text of a record, or why it cannot be opened. */
export async function openVolumeData(
  deps: FileDeps,
  folder: string,
): Promise<Result<string, string>> {
  const read = await readVolumeData(deps, folder);
  if (!read.ok) return read;
  if (read.value !== undefined) return ok(read.value);
  return err(`open ${volumeDataPath(folder)}: no such file or directory`);
}

export async function loadVolumeData(
  deps: FileDeps,
  folder: string,
): Promise<Result<VolumeData, StorageError>> {
  return parseVolumeData(folder, await openVolumeData(deps, folder));
}

/** Removes an empty mount folder, its record and the folder of both; nothing as long as something is mounted there. */
export async function removeMountFolder(
  deps: FileDeps,
  mountPath: string,
): Promise<Result<void, string>> {
  const { files, mounts } = deps;
  if (await mounts.isMountPoint(mountPath)) return ok(undefined);
  const folder = splitPath(mountPath).folder;
  await removeUnfinished(deps, folder);
  const steps = [
    [mountPath, `failed to remove dir [${mountPath}]`],
    [volumeDataPath(folder), `failed to delete volume data file [${volumeDataPath(folder)}]`],
    [folder, `failed to delete volume path [${folder}]`],
  ] as const;
  for (const [path, problem] of steps) {
    try {
      await files.removeEntry(path);
    } catch (error) {
      return err(csiText(`${problem}: ${errorText(error)}`));
    }
  }
  return ok(undefined);
}

/** Whether an agent took the volume of this folder down, but for the folder itself. */
export async function isTakenDown(
  { files, mounts }: FileDeps,
  mountPath: string,
): Promise<boolean> {
  const { folder } = splitPath(mountPath);
  const { folder: parent, name } = splitPath(folder);
  if (!(await files.list(parent)).includes(name)) return false;
  return (await files.list(folder)).length === 0 && !(await mounts.isMountPoint(mountPath));
}

/** An agent that was killed while it wrote a record leaves a file beside it, with which the folder could not go. */
async function removeUnfinished({ files }: FileDeps, folder: string): Promise<void> {
  const prefix = volumeDataPath("");
  for (const name of await files.list(folder)) {
    if (name.startsWith(`${prefix}.`)) await files.removeFile(joinPath(folder, name));
  }
}

/** The same after a failure, which is the one that counts. */
export async function removeAfterFailure(
  deps: FileDeps & Pick<CsiPluginDeps, "log">,
  mountPath: string,
): Promise<void> {
  const removed = await removeMountFolder(deps, mountPath);
  if (removed.ok) return;
  deps.log.warn("cannot remove a mount folder after an error", { mountPath, error: removed.error });
}

/** Makes a folder that a driver mounts over. One that is mounted already belongs to the driver and is not looked at. */
export async function ensureMountFolder(
  { files, mounts }: FileDeps,
  path: string,
): Promise<string | undefined> {
  try {
    if (!(await mounts.isMountPoint(path))) await files.ensureFolder(path, folderMode);
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}
