import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { listBelow } from "../drivers/linux/mount-table.ts";
import { SetupError } from "../lib/setup-error.ts";

/** Removes the data folder of a node that has ended, or a folder in it. Throws where something is mounted: its files are not the node's. */
export async function removeDataDir(folder: string): Promise<void> {
  const mounted = (await listBelow(folder)).map(({ mountPoint }) => mountPoint);
  if (mounted.length > 0) {
    throw new SetupError(
      `${folder} is not removed, for something is still mounted there: ${mounted.join(", ")}`,
      "unmount that with umount(8), and remove the folder then",
    );
  }
  await rm(folder, { recursive: true, force: true });
}

/** What there is to say of a data folder whose removal failed, if it is still there. */
export function leftProblems(dataDir: string): readonly string[] {
  if (!existsSync(dataDir)) return [];
  return [`not removed: ${dataDir} (berth down --data-dir ${dataDir} does it)`];
}
