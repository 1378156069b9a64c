import { readlinkSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errorCode } from "../volume-error.ts";
import {
  type ByteName,
  bytePath,
  bytesOf,
  mountId,
  type OpenEntry,
  openFolder,
  openNamedFolder,
  textOf,
  unlessAbsent,
} from "./open-entry.ts";
import { type OnProgress, readMountPointsAt, readNames } from "./tree-walk.ts";

/** Folders nested deeper than this are moved up before they are emptied, so that few files are open at once. */
const maxDepth = 32;

/** Some file systems skip names while others are deleted: what is left is read again this often. */
const maxPasses = 16;

interface Removal {
  readonly top: OpenEntry;
  readonly mount: string;
  readonly shown: string;
  /** Of the names of what was moved up; another agent may have been stopped in the middle of this. */
  readonly prefix: string;
  readonly onProgress: OnProgress;
  moved: number;
}

/**
 * Deletes a file or a tree by its name in its folder, one name at a time. Throws when a mount point is inside, having
 * deleted nothing, and at one that appears meanwhile, having deleted nothing beyond it.
 */
export function removeTree(path: string, onProgress: OnProgress): void {
  const parent = unlessAbsent(() => openNamedFolder(dirname(path)));
  if (parent === undefined) return;
  using top = parent;
  // What is empty has no mount point inside, and is none itself: the kernel would refuse.
  if (failureOf(() => rmdirSync(bytePath(top, bytesOf(basename(path))))) === undefined) return;
  const [mounted] = readMountPointsAt(
    join(readlinkSync(top.path, "latin1"), bytesOf(basename(path))),
  );
  if (mounted !== undefined) {
    throw new Error(`cannot delete ${path}: ${textOf(mounted)} is a mount point; unmount it first`);
  }
  const prefix = `.removing-${process.pid}-${process.hrtime.bigint()}`;
  const removal = { top, mount: mountId(top), shown: path, prefix, onProgress, moved: 0 };
  removeEntry(removal, top, bytesOf(basename(path)), 0);
  // Emptying what was moved up may move up more.
  for (let next = 1; next <= removal.moved; next += 1) {
    removeEntry(removal, top, `${prefix}-${next}`, 0);
  }
}

/** Deletes one entry. Folders that are too deep are moved up, to be deleted later. */
function removeEntry(removal: Removal, parent: OpenEntry, name: ByteName, depth: number): void {
  removal.onProgress();
  const path = bytePath(parent, name);
  const code = failureOf(() => unlinkSync(path));
  if (code === undefined || code === "ENOENT") return;
  if (code === "EBUSY") throw mountPointError(removal, name);
  if (code !== "EISDIR") throw removalError(removal, name, code);
  if (depth > maxDepth) {
    moveUp(removal, path, name);
    return;
  }
  for (let pass = 1; ; pass += 1) {
    if (!emptyFolder(removal, path, name, depth)) return;
    const rest = failureOf(() => rmdirSync(path));
    if (rest === undefined || rest === "ENOENT") return;
    if (rest === "EBUSY") throw mountPointError(removal, name);
    if (rest !== "ENOTEMPTY" || pass === maxPasses) throw removalError(removal, name, rest);
  }
}

/** Whether the folder was still there. */
function emptyFolder(removal: Removal, path: Buffer, name: ByteName, depth: number): boolean {
  const opened = unlessAbsent(() => openFolder(path));
  if (opened === undefined) return false;
  using folder = opened;
  if (mountId(folder) !== removal.mount) throw mountPointError(removal, name);
  const names = readNames(folder);
  try {
    for (let child = names.readSync(); child !== null; child = names.readSync()) {
      removeEntry(removal, folder, child.name, depth + 1);
    }
  } finally {
    names.closeSync();
  }
  return true;
}

function moveUp(removal: Removal, path: Buffer, name: ByteName): void {
  removal.moved += 1;
  const above = bytePath(removal.top, `${removal.prefix}-${removal.moved}`);
  const code = failureOf(() => renameSync(path, above));
  if (code === undefined) return;
  removal.moved -= 1;
  if (code === "ENOENT") return;
  if (code === "EBUSY" || code === "EXDEV") throw mountPointError(removal, name);
  throw removalError(removal, name, code);
}

function mountPointError({ shown }: Removal, name: ByteName): Error {
  const inside = textOf(name);
  return new Error(`cannot delete ${shown}: ${inside} in it is a mount point; unmount it first`);
}

function removalError({ shown }: Removal, name: ByteName, code: string): Error {
  return new Error(`cannot delete ${shown}: ${textOf(name)} in it: ${code}`);
}

function failureOf(action: () => void): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    return errorCode(error);
  }
}
