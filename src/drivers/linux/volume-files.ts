import { mkdir } from "node:fs/promises";
import type { VolumeFiles } from "../../ports/volume-files.ts";
import { errorCode } from "./volume-error.ts";
import { childPath, type OpenEntry, openFolder, openFolderIn } from "./volume-folder.ts";
import { createNodeFile, createNodeFolder, kindOfNodePath } from "./volume-node-path.ts";
import { changeOwnership } from "./volume-ownership.ts";
import { publishPayload, readPayload } from "./volume-payload.ts";
import { removeTree } from "./volume-removal.ts";

/** The files of volumes on this machine. */
export const volumeFiles: VolumeFiles = {
  readPayload,
  publishPayload,
  makeFolders,
  changeOwnership,
  removeTree,
  kindOf: kindOfNodePath,
  createNodeFolder,
  createNodeFile,
};

async function makeFolders(path: string, relativePaths: readonly string[]): Promise<void> {
  await using folder = await openFolder(path);
  for (const relative of relativePaths) await makeBelow(folder, relative.split("/"));
}

async function makeBelow(parent: OpenEntry, [name, ...rest]: readonly string[]): Promise<void> {
  if (name === undefined) return;
  try {
    await mkdir(childPath(parent, name), 0o755);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  await using folder = await openFolderIn(parent, name);
  await makeBelow(folder, rest);
}
