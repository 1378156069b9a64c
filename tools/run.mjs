// Runs a TypeScript file on any supported Node: bundled by esbuild into node_modules/.cache, then imported.
import { mkdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [file, ...args] = process.argv.slice(2);
if (file === undefined) {
  console.error("usage: node tools/run.mjs FILE.ts [ARGUMENT...]");
  process.exit(2);
}
const outDir = join(root, "node_modules", ".cache", "berth-run");
mkdirSync(outDir, { recursive: true });
const outfile = join(outDir, `${basename(file, ".ts")}-${process.pid}.mjs`);
await build({
  entryPoints: [resolve(file)],
  outfile,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  sourcemap: "inline",
  logLevel: "error",
  define: { BERTH_REPOSITORY: JSON.stringify(root) },
});
process.argv = [process.argv[0], file, ...args];
try {
  await import(pathToFileURL(outfile).href);
} finally {
  const { rmSync } = await import("node:fs");
  rmSync(outfile, { force: true });
}
