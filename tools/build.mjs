// Bundles the command line into dist/berth.js: one file starts faster and needs less memory. What is imported only when it
// is asked for lies in files beside it.
import { chmodSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const outdir = join(root, "dist");
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: [join(root, "src/cli/berth.ts")],
  outdir,
  splitting: true,
  chunkNames: "parts/[name]-[hash]",
  metafile: true,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: true,
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: "error",
  // Bundled CommonJS packages expect these; the start of the file is also where Node finds its program.
  banner: {
    js: [
      "#!/usr/bin/env node",
      'import { createRequire as berthCreateRequire } from "node:module";',
      "const require = berthCreateRequire(import.meta.url);",
    ].join("\n"),
  },
});
chmodSync(join(outdir, "berth.js"), 0o755);
const current = new Set(Object.keys(metafile.outputs).map((path) => join(root, path)));
for (const name of readdirSync(outdir, { recursive: true })) {
  const path = join(outdir, String(name));
  if (statSync(path).isFile() && !current.has(path)) rmSync(path);
}
