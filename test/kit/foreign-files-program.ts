import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { linuxForeignFiles } from "../../src/drivers/linux/foreign-files.ts";
import { ForeignHelpers } from "../../src/drivers/linux/foreign-helpers.ts";
import { HungPaths } from "../../src/drivers/linux/hung-paths.ts";
import type { ForeignFiles } from "../../src/ports/foreign-files.ts";

const root = join(import.meta.dirname, "../..");
let built: string | undefined;

/** The helper for foreign files, bundled from source once in each test process. */
export function foreignFilesProgram(): string {
  if (built !== undefined) return built;
  const folder = join(root, "node_modules/.cache/berth-foreign-files");
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `${process.pid}.mjs`);
  buildSync({
    entryPoints: [join(root, "src/drivers/linux/foreign/main.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "error",
  });
  built = outfile;
  return built;
}

/** The foreign files of this machine, with helpers of the test's own. */
export function testForeignFiles(hungPaths: HungPaths = new HungPaths(Date.now)): ForeignFiles {
  return linuxForeignFiles(new ForeignHelpers(foreignFilesProgram(), hungPaths), Date.now);
}
