import { chmodSync, chownSync, fstatSync, type Stats } from "node:fs";
import type { VolumeOwnership } from "../../../ports/foreign-files.ts";
import { bytePath, type OpenEntry, openEntry, openFolder, unlessAbsent } from "./open-entry.ts";
import { type OnProgress, walkBelow } from "./tree-walk.ts";

export type TreeOwnership = Omit<VolumeOwnership, "onProcessed">;

const setGroupId = 0o2000;
const keepUser = -1;

/** Gives a volume's files to a group, which may then read them, and write them unless the volume is read-only. */
export function changeOwnership(
  path: string,
  ownership: TreeOwnership,
  onProgress: OnProgress,
): void {
  using top = openFolder(path);
  if (ownership.onlyOnMismatch && isOwned(fstatSync(top.fd), ownership)) return;
  walkBelow(
    top,
    (folder, name) => {
      const opened = unlessAbsent(() => openEntry(bytePath(folder, name)));
      if (opened === undefined) return false;
      using entry = opened;
      const info = fstatSync(entry.fd);
      changeEntry(entry, info, ownership);
      return info.isDirectory();
    },
    onProgress,
  );
  // Last: as long as it is not right, the work is known to be unfinished.
  changeEntry(top, fstatSync(top.fd), ownership);
}

function changeEntry(entry: OpenEntry, info: Stats, { groupId, readOnly }: TreeOwnership): void {
  chownSync(entry.path, keepUser, groupId);
  // The mode of a link means nothing.
  if (info.isSymbolicLink()) return;
  const added = (readOnly ? 0o440 : 0o660) | (info.isDirectory() ? 0o110 | setGroupId : 0);
  chmodSync(entry.path, (info.mode & 0o7777) | added);
}

function isOwned(info: Stats, { groupId, readOnly }: TreeOwnership): boolean {
  const needed = (readOnly ? 0o440 : 0o660) | 0o110 | setGroupId;
  return info.gid === groupId && (info.mode & needed) === needed;
}
