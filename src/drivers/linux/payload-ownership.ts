import type { Stats } from "node:fs";
import { chmod, chown, readdir } from "node:fs/promises";
import type { VolumeOwnership } from "../../ports/foreign-files.ts";
import { mountId, type OpenEntry, openEntryIn, openFolderIn, unlessAbsent } from "./open-folder.ts";

const setGroupId = 0o2000;
const keepUser = -1;

/** Gives the files of a volume that the agent publishes to a group, which may then read them. */
export async function changeFolderOwnership(
  folder: OpenEntry,
  ownership: VolumeOwnership,
): Promise<void> {
  if (ownership.onlyOnMismatch && isOwned(await folder.handle.stat(), ownership)) return;
  await changeFolder(folder, ownership, await mountId(folder));
}

// The top folder is last: as long as it is not right, the work is known to be unfinished.
async function changeFolder(
  folder: OpenEntry,
  ownership: VolumeOwnership,
  mount: string,
): Promise<void> {
  for (const name of await readdir(folder.path)) {
    const opened = await unlessAbsent(openEntryIn(folder, name));
    if (opened === undefined) continue;
    await using entry = opened;
    const info = await entry.handle.stat();
    if (!info.isDirectory()) await changeEntry(entry, info, ownership);
    else if ((await mountId(entry)) === mount) await changeBelow(folder, name, ownership, mount);
  }
  await changeEntry(folder, await folder.handle.stat(), ownership);
}

async function changeBelow(
  parent: OpenEntry,
  name: string,
  ownership: VolumeOwnership,
  mount: string,
): Promise<void> {
  await using folder = await openFolderIn(parent, name);
  await changeFolder(folder, ownership, mount);
}

async function changeEntry(
  entry: OpenEntry,
  info: Stats,
  { groupId, readOnly }: VolumeOwnership,
): Promise<void> {
  await chown(entry.path, keepUser, groupId);
  // The mode of a link means nothing.
  if (info.isSymbolicLink()) return;
  const added = (readOnly ? 0o440 : 0o660) | (info.isDirectory() ? 0o110 | setGroupId : 0);
  await chmod(entry.path, (info.mode & 0o7777) | added);
}

function isOwned(info: Stats, { groupId, readOnly }: VolumeOwnership): boolean {
  const needed = (readOnly ? 0o440 : 0o660) | 0o110 | setGroupId;
  return info.gid === groupId && (info.mode & needed) === needed;
}
