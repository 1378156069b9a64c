import { resolve } from "node:path";
import { readManifestFolder } from "../drivers/manifest/manifest-folder.ts";
import { SetupError } from "../lib/setup-error.ts";
import { type ManifestText, maxManifestBytes, tooLarge } from "../model/manifest/manifest-text.ts";
import { missingPath, readProblem } from "./read-problem.ts";

const fix = "give a manifest, or a folder of them";

/** The texts of files and folders, and of `stdin` for "-". Rejects with a SetupError when one cannot be read. */
export async function readManifestPaths(
  paths: readonly string[],
  stdin: AsyncIterable<string | Uint8Array>,
): Promise<readonly ManifestText[]> {
  const texts: ManifestText[] = [];
  for (const path of new Set(paths)) {
    if (path === "-") texts.push({ path: "standard input", text: await readAll(stdin) });
    else texts.push(...(await readManifestPath(path)));
  }
  return texts;
}

export async function readManifestPath(path: string): Promise<readonly ManifestText[]> {
  const content = await readManifestFolder(resolve(path), "yamlAndJson").catch((error: unknown) => {
    throw new SetupError(readProblem(path, error), fix, { cause: error });
  });
  if (content.kind === "missing") throw new SetupError(missingPath(path), fix);
  const [unreadable] = content.unreadable;
  if (unreadable !== undefined) {
    throw new SetupError(`${unreadable.path}: ${unreadable.message}`, fix);
  }
  return content.files;
}

async function readAll(source: AsyncIterable<string | Uint8Array>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    const data = Buffer.from(chunk);
    bytes += data.length;
    if (bytes > maxManifestBytes) throw new SetupError(`standard input is ${tooLarge}`, fix);
    chunks.push(data);
  }
  return Buffer.concat(chunks).toString();
}
