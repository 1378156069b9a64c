import { readdir, rmdir, unlink } from "node:fs/promises";
import { childPath, mountId, type OpenEntry, openFolderIn, unlessAbsent } from "./open-folder.ts";
import { errorCode } from "./volume-error.ts";

/** Deletes content that the agent wrote, by its name in its open folder; `shown` is the path for messages. */
export async function removePayload(parent: OpenEntry, name: string, shown: string): Promise<void> {
  const path = childPath(parent, name);
  try {
    await unlink(path);
    return;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return;
    if (errorCode(error) !== "EISDIR") throw error;
  }
  {
    const opened = await unlessAbsent(openFolderIn(parent, name));
    if (opened === undefined) return;
    await using folder = opened;
    if ((await mountId(folder)) !== (await mountId(parent))) {
      throw new Error(`cannot delete ${shown}: ${name} in it is a mount point; unmount it first`);
    }
    for (const child of await readdir(folder.path)) await removePayload(folder, child, shown);
  }
  await rmdir(path);
}
