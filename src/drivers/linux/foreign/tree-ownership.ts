import { chmodSync, chownSync, fstatSync, type Stats } from "node:fs";
import type { VolumeOwnership } from "../../../ports/foreign-files.ts";
import { errorCode } from "../volume-error.ts";
import { bytePath, type OpenEntry, openEntry, unlessAbsent } from "./open-entry.ts";
import { type OnProgress, walkBelow } from "./tree-walk.ts";

export type TreeOwnership = Omit<VolumeOwnership, "onProcessed">;

const setGroupId = 0o2000;
const keepUser = -1;

const refusals: ReadonlySet<string> = new Set(["EPERM", "EACCES", "EROFS", "EOPNOTSUPP", "ENOENT"]);

/**
 * Gives a volume's files to a group, which may then read them, and write them unless the volume is read-only. A file that
 * cannot be changed, as on a server that takes no orders of root, stays as it is: the pod may do without it.
 */
export function changeOwnership(
  path: string,
  ownership: TreeOwnership,
  onProgress: OnProgress,
): void {
  using top = openEntry(path);
  const info = fstatSync(top.fd);
  if (info.isDirectory()) {
    if (ownership.onlyOnMismatch && isOwned(info, ownership)) return;
    changeBelow(top, ownership, onProgress);
  }
  // Last: as long as it is not right, the work is known to be unfinished.
  changeEntry(top, info, ownership);
}

function changeBelow(top: OpenEntry, ownership: TreeOwnership, onProgress: OnProgress): void {
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
}

function changeEntry(entry: OpenEntry, info: Stats, { groupId, readOnly }: TreeOwnership): void {
  unlessRefused(() => chownSync(entry.path, keepUser, groupId));
  // The mode of a link means nothing.
  if (info.isSymbolicLink()) return;
  const added = (readOnly ? 0o440 : 0o660) | (info.isDirectory() ? 0o110 | setGroupId : 0);
  unlessRefused(() => chmodSync(entry.path, (info.mode & 0o7777) | added));
}

function unlessRefused(change: () => void): void {
  try {
    change();
  } catch (error) {
    if (!refusals.has(errorCode(error))) throw error;
  }
}

function isOwned(info: Stats, { groupId, readOnly }: TreeOwnership): boolean {
  const needed = (readOnly ? 0o440 : 0o660) | 0o110 | setGroupId;
  return info.gid === groupId && (info.mode & needed) === needed;
}
