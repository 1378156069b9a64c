// Bundles the command line into dist/berth.js, one file: every further one takes a command longer to start. What is imported
// only when it is asked for, the agent above all, lies in dist/parts; the page in dist/ui.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { bundlePage } from "./build-page.mjs";

// Bundled CommonJS packages expect it.
const requireBanner = [
  'import { createRequire as berthCreateRequire } from "node:module";',
  "const require = berthCreateRequire(import.meta.url);",
].join("\n");

/** The commit that is built, for `berth version`; of changed files, too. */
function commitOf(root) {
  const git = (...args) => spawnSync("git", ["-C", root, ...args], { encoding: "utf8" });
  const { status, stdout } = git("rev-parse", "--short=12", "HEAD");
  if (status !== 0) return "unknown";
  const isChanged = git("status", "--porcelain", "--untracked-files=no").stdout !== "";
  return `${stdout.trim()}${isChanged ? "-changed" : ""}`;
}

/**
 * Bundles the repository at `root` into `outdir`, and removes from it whatever an earlier build left. `builtAs` is what `berth version` calls it,
 * `interpreter` the first line of the program. Returns the source files of which something was bundled.
 */
export async function buildProgram({ root, outdir, builtAs, interpreter, sourcemap }) {
  const common = {
    absWorkingDir: root,
    metafile: true,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap,
    minifyWhitespace: true,
    minifySyntax: true,
    logLevel: "error",
    // Names of parts are made of their content and their place: the same one for every folder.
    write: false,
    define: {
      BERTH_COMMIT: JSON.stringify(commitOf(root)),
      BERTH_BUILT_AS: JSON.stringify(builtAs),
    },
  };
  const place = join(root, "dist");
  const partsDir = join(place, "parts");
  /** The files that the command line imports only when it is asked to. */
  const parts = new Map([
    // What programs import, and the process of a node of theirs.
    ["library", join(root, "src/library/node.ts")],
    ["node-program", join(root, "src/library/node-program.ts")],
  ]);
  const program = await build({
    ...common,
    entryPoints: [join(root, "src/cli/berth.ts")],
    outdir: place,
    banner: { js: `#!${interpreter}` },
    plugins: [leaveOut(parts)],
  });
  const rest = await build({
    ...common,
    // Sorted: they were found in an order that changes, and what is bundled first depends on it.
    entryPoints: Object.fromEntries([...parts].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    outdir: partsDir,
    splitting: true,
    banner: { js: requireBanner },
  });
  // Programs of their own, each with only what it needs: a helper process that starts often, and the threads of the kubelet's API, the page and the watchdog.
  const apart = await build({
    ...common,
    entryPoints: {
      "foreign-files": join(root, "src/drivers/linux/foreign/main.ts"),
      "kubelet-api-thread": join(root, "src/app/kubelet-api-thread.ts"),
      "ui-thread": join(root, "src/app/ui-thread.ts"),
      "watchdog-thread": join(root, "src/drivers/watchdog/watchdog-thread.ts"),
    },
    outdir: partsDir,
  });
  // For browsers too: nothing of Node is in it.
  const planner = await build({
    ...common,
    platform: "neutral",
    target: "es2022",
    entryPoints: { "library-plan": join(root, "src/library/plan.ts") },
    outdir: partsDir,
  });
  const made = [program, rest, apart, planner];
  const page = await bundlePage(root);
  writeOutputs([
    ...made.flatMap(({ outputFiles }) =>
      outputFiles.map(({ path, contents }) => [join(outdir, relative(place, path)), contents]),
    ),
    ...[...page.files].map(([path, contents]) => [join(outdir, "ui", path), contents]),
  ]);
  chmodSync(join(outdir, "berth.js"), 0o755);
  const sources = made.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  return [...new Set([...sources, ...page.sources])].toSorted();
}

/** Leaves out what is imported only when it is asked for, and notes it in `parts` by its name. */
function leaveOut(parts) {
  return {
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
}

/** Writes what was bundled, and removes what an earlier build left beside it. */
function writeOutputs(files) {
  const written = new Set(files.map(([path]) => path));
  for (const [path, contents] of files) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, contents);
  }
  for (const folder of new Set([...written].map(dirname))) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isFile() && !written.has(path)) rmSync(path);
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  await buildProgram({
    root,
    outdir: join(root, "dist"),
    builtAs: "a clone",
    interpreter: "/usr/bin/env node",
    sourcemap: true,
  });
}
