import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorText } from "../lib/error-text.ts";
import { SetupError } from "../lib/setup-error.ts";
import type { ManifestText } from "../model/manifest/manifest-text.ts";
import { dataLayout } from "./data-layout.ts";

/** The data folder of a node that is there for a while, with these files as its manifests. Where that fails nothing of it stays. */
export async function makeTemporaryDataDir(
  prefix: string,
  files: readonly ManifestText[] = [],
): Promise<string> {
  let dataDir: string | undefined;
  try {
    // Short: sockets lie in it, whose paths the kernel limits.
    dataDir = await mkdtemp(join(tmpdir(), prefix));
    const { manifests } = dataLayout(dataDir);
    await mkdir(manifests, { mode: 0o700 });
    for (const { path, text } of files) {
      await writeFile(join(manifests, path), text, { mode: 0o600 });
    }
    return dataDir;
  } catch (error) {
    if (dataDir !== undefined) await rm(dataDir, { recursive: true, force: true });
    throw new SetupError(
      `cannot make a folder for the node: ${errorText(error)}`,
      "set TMPDIR to a folder that can be written",
      { cause: error },
    );
  }
}
