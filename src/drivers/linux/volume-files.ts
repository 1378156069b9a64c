import { constants, mkdir, open } from "node:fs/promises";
import type { VolumeFiles } from "../../ports/volume-files.ts";
import { openSubPath } from "./subpath-walk.ts";
import { errorCode } from "./volume-error.ts";
import { childPath, type OpenEntry, openFolder, openFolderIn } from "./volume-folder.ts";
import { createNodeFile, createNodeFolder, kindOfNodePath } from "./volume-node-path.ts";
import { changeOwnership } from "./volume-ownership.ts";
import { publishPayload, readPayload } from "./volume-payload.ts";
import { removeTree } from "./volume-removal.ts";

/** The files of volumes on this machine. */
export const volumeFiles: VolumeFiles = {
  readPayload,
  readFile: readVolumeFile,
  publishPayload,
  makeFolders,
  changeOwnership,
  removeTree,
  kindOf: kindOfNodePath,
  createNodeFolder,
  createNodeFile,
};

async function readVolumeFile(
  folder: string,
  path: string,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  await using entry = await openSubPath(folder, path, { makesFolders: false });
  const info = await entry.handle.stat();
  if (!info.isFile() || info.size > maxBytes) return undefined;
  const file = await open(entry.path, constants.O_RDONLY);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

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
