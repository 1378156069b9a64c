// Bundles the command line into dist/berth.js, one file: every further one takes a command longer to start. What is imported
// only when it is asked for, the agent above all, lies in dist/parts.
import { chmodSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const outdir = join(root, "dist");
const partsDir = join(outdir, "parts");

const common = {
  absWorkingDir: root,
  metafile: true,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: true,
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: "error",
};
// Bundled CommonJS packages expect it.
const requireBanner = [
  'import { createRequire as berthCreateRequire } from "node:module";',
  "const require = berthCreateRequire(import.meta.url);",
].join("\n");

/** The files that the command line imports only when it is asked to. */
const parts = new Map();
const leaveOutParts = {
  name: "leave-out-parts",
  setup: (bundler) => {
    bundler.onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
      if (kind !== "dynamic-import") return undefined;
      const source = resolve(resolveDir, path);
      const name = basename(source, ".ts");
      if ((parts.get(name) ?? source) !== source) throw new Error(`two parts are named ${name}`);
      parts.set(name, source);
      return { path: `./parts/${name}.js`, external: true };
    });
  },
};

const program = await build({
  ...common,
  entryPoints: [join(root, "src/cli/berth.ts")],
  outdir,
  banner: { js: "#!/usr/bin/env node" },
  plugins: [leaveOutParts],
});
const rest = await build({
  ...common,
  entryPoints: Object.fromEntries(parts),
  outdir: partsDir,
  splitting: true,
  banner: { js: requireBanner },
});
// Programs of their own, each with only what it needs: a helper process that starts often, and the threads of the kubelet's API and the watchdog.
const apart = await build({
  ...common,
  entryPoints: {
    "foreign-files": join(root, "src/drivers/linux/foreign/main.ts"),
    "kubelet-api-thread": join(root, "src/app/kubelet-api-thread.ts"),
    "watchdog-thread": join(root, "src/drivers/watchdog/watchdog-thread.ts"),
  },
  outdir: partsDir,
});
chmodSync(join(outdir, "berth.js"), 0o755);
const outputs = [program, rest, apart].flatMap(({ metafile }) => Object.keys(metafile.outputs));
const current = new Set(outputs.map((path) => join(root, path)));
for (const name of readdirSync(outdir, { recursive: true })) {
  const path = join(outdir, String(name));
  if (statSync(path).isFile() && !current.has(path)) rmSync(path);
}
