import { randomInt } from "node:crypto";
import { readdir, rename, rmdir, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { errorCode } from "./volume-error.ts";
import {
  childPath,
  mountId,
  type OpenEntry,
  openFolder,
  openFolderIn,
  unlessAbsent,
} from "./volume-folder.ts";

/** Folders nested deeper than this are moved up before they are emptied, so that few files are open at once. */
const maxDepth = 32;

/** Deletes a file or a tree by its name in its folder. Rejects at a mount point, having deleted nothing beyond it. */
export async function removeTree(path: string): Promise<void> {
  const parent = await unlessAbsent(openFolder(dirname(path)));
  if (parent === undefined) return;
  await using folder = parent;
  await removeTreeIn(folder, basename(path), path);
}

/** As removeTree, in an open folder; `shown` is its path for messages. */
export async function removeTreeIn(parent: OpenEntry, name: string, shown: string): Promise<void> {
  const prefix = `.removing-${randomInt(2 ** 32)}`;
  const removal = { top: parent, mount: await mountId(parent), shown, prefix, moved: 0 };
  const pending = [name];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    pending.push(...(await removeEntry(removal, parent, next, 0)));
  }
}

interface Removal {
  readonly top: OpenEntry;
  readonly mount: string;
  readonly shown: string;
  /** Of the names of what was moved up; another agent may have been stopped in the middle of this. */
  readonly prefix: string;
  moved: number;
}

/** Deletes one entry; answers the names of folders that were moved up and are still to be deleted. */
async function removeEntry(
  removal: Removal,
  parent: OpenEntry,
  name: string,
  depth: number,
): Promise<readonly string[]> {
  const path = childPath(parent, name);
  const code = await failureOf(unlink(path));
  if (code === undefined || code === "ENOENT") return [];
  if (code === "EBUSY") throw mountPointError(removal, name);
  if (code !== "EISDIR") throw removalError(removal, name, code);
  const moved: string[] = [];
  {
    const opened = await unlessAbsent(openFolderIn(parent, name));
    if (opened === undefined) return [];
    await using folder = opened;
    if ((await mountId(folder)) !== removal.mount) throw mountPointError(removal, name);
    for (const child of await readdir(folder.path)) {
      if (depth < maxDepth) moved.push(...(await removeEntry(removal, folder, child, depth + 1)));
      else moved.push(await moveUp(removal, folder, child));
    }
  }
  const rest = await failureOf(rmdir(path));
  if (rest === "EBUSY") throw mountPointError(removal, name);
  if (rest !== undefined && rest !== "ENOENT") throw removalError(removal, name, rest);
  return moved;
}

async function moveUp(removal: Removal, parent: OpenEntry, name: string): Promise<string> {
  removal.moved += 1;
  const above = `${removal.prefix}-${removal.moved}`;
  const code = await failureOf(rename(childPath(parent, name), childPath(removal.top, above)));
  if (code === "EBUSY" || code === "EXDEV") throw mountPointError(removal, name);
  if (code !== undefined) throw removalError(removal, name, code);
  return above;
}

function mountPointError({ shown }: Removal, name: string): Error {
  return new Error(`cannot delete ${shown}: ${name} in it is a mount point; unmount it first`);
}

function removalError({ shown }: Removal, name: string, code: string): Error {
  return new Error(`cannot delete ${shown}: ${name} in it: ${code}`);
}

async function failureOf(action: Promise<void>): Promise<string | undefined> {
  try {
    await action;
    return undefined;
  } catch (error) {
    return errorCode(error);
  }
}
