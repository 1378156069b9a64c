// What the program consists of beside its main thread: in the build files beside the one that this file becomes part of, in the one executable its data.
import { join } from "node:path";
import { getAsset, isSea } from "node:sea";
import { fileURLToPath } from "node:url";

/** The program of a thread, as `Worker` takes it: where it is, or its text. */
export function programPart(
  name: "kubelet-api-thread" | "ui-thread" | "watchdog-thread",
): URL | string {
  const file = `${name}.js`;
  return isSea() ? getAsset(`parts/${file}`, "utf8") : new URL(file, import.meta.url);
}

/** A process of its own, as what this process' own executable is started with. */
function processPart(name: string): string {
  return isSea() ? `--part=${name}` : join(import.meta.dirname, `${name}.js`);
}

/** The helper that reads foreign files. */
export const foreignFilesProgram: string = processPart("foreign-files");

/** The node of another program. */
export const nodeProgram: string = processPart("node-program");

/** The built page; undefined where it is data of the executable. */
export const pageFolder: string | undefined = isSea()
  ? undefined
  : fileURLToPath(new URL("../ui/", import.meta.url));

/** A document that the one executable carries; undefined in every other program, whose package has it as a file. */
export function carriedDocument(
  name: "sbom.cdx.json" | "THIRD-PARTY-LICENSES",
): string | undefined {
  return isSea() ? getAsset(name, "utf8") : undefined;
}
