// What claims of `berth up` hold. It is the user's data, and goes only when that is asked for.

import { lstat, readdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { claimsMarker } from "../engine/intake/local-claims.ts";
import { SetupError } from "../lib/setup-error.ts";
import type { ForeignFiles } from "../ports/foreign-files.ts";

/** Whether there is a folder of claims. */
export async function hasClaimFolders(folder: string): Promise<boolean> {
  return (await lstat(folder).catch(() => undefined)) !== undefined;
}

/**
 * Removes the folders of all claims, and follows no link: what lies elsewhere stays. Throws at a mount point. Safe to repeat: the
 * marker goes last.
 */
export async function removeClaimFolders(
  folder: string,
  foreignFiles: Pick<ForeignFiles, "removeTree">,
  signal: AbortSignal,
): Promise<void> {
  const found = await lstat(folder).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isDirectory()) {
    throw new SetupError(
      `${folder} is not a folder, and what it may lead to is not removed`,
      "remove it and what it leads to yourself",
    );
  }
  const names = await readdir(folder);
  if (!names.includes(claimsMarker)) {
    throw new SetupError(
      `${folder} has no file ${claimsMarker}: no agent made it`,
      "remove it yourself if nothing needs it",
    );
  }
  for (const name of names) {
    if (name !== claimsMarker) await foreignFiles.removeTree(join(folder, name), signal);
  }
  await foreignFiles.removeTree(join(folder, claimsMarker), signal);
  await rmdir(folder);
}
