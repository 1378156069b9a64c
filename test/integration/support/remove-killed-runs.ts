import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { containerdPaths } from "../../../src/drivers/containerd/containerd-paths.ts";
import {
  MANAGED_CONTAINERD_DEFAULTS,
  teardownDataDir,
} from "../../../src/drivers/containerd/managed-containerd.ts";
import { lockDataDir } from "../../../src/drivers/linux/data-dir-lock.ts";
import { readMachine } from "../../../src/drivers/linux/read-machine.ts";
import { removeCgroups } from "./leftovers.ts";
import { removeFolder } from "./remove-folder.ts";
import { foldersOfKilledRuns } from "./test-folder.ts";

const teardownTimeoutMs = 60_000;
// The data folder of an agent on a disk of its own.
const deepestDataDir = 2;

/** Before the first test: removes what test processes left that were killed, and nothing else. */
export async function setup(): Promise<void> {
  for (const folder of foldersOfKilledRuns()) {
    try {
      for (const dataDir of dataDirsIn(folder, deepestDataDir)) await removeContainerd(dataDir);
      await removeFolder(folder);
    } catch (error) {
      // Another run may be at it.
      console.warn(`${folder} of a killed test stays:`, error);
    }
  }
}

function dataDirsIn(folder: string, depth: number): readonly string[] {
  if (existsSync(containerdPaths(folder).networkFile)) return [folder];
  if (depth === 0) return [];
  return foldersIn(folder).flatMap((inner) => dataDirsIn(inner, depth - 1));
}

/** None in a mount whose server has died with the test. */
function foldersIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}

async function removeContainerd(dataDir: string): Promise<void> {
  const lock = await lockDataDir(dataDir);
  try {
    const { networkFile } = containerdPaths(dataDir);
    const { bridge } = JSON.parse(readFileSync(networkFile, "utf8")) as { readonly bridge: string };
    const options = { ...MANAGED_CONTAINERD_DEFAULTS, dataDir };
    await teardownDataDir(options, readMachine(), AbortSignal.timeout(teardownTimeoutMs));
    removeCgroups(`/${bridge}`);
  } finally {
    await lock.release();
  }
}
