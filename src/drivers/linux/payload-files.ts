import { mkdir } from "node:fs/promises";
import type { PayloadFiles } from "../../ports/payload-files.ts";
import { childPath, type OpenEntry, openFolder, openFolderIn } from "./open-folder.ts";
import { publishPayload, readPayload } from "./payload-content.ts";
import { errorCode } from "./volume-error.ts";

/** The files that the agent publishes in volumes on this machine. */
export const payloadFiles: PayloadFiles = { readPayload, publishPayload, makeFolders };

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
