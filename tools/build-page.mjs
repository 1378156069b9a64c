// Bundles the page of web/ into one folder: its document, and below `assets` what that loads, by names that change with the content.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { constants, gzipSync } from "node:zlib";
import { build } from "esbuild";

/** What the document refers to, by the names of the sources: attributes, and the entries that they become. */
const references = [
  { attribute: "src", source: "main.tsx", entry: "main" },
  { attribute: "href", source: "main.css", entry: "page" },
  { attribute: "data-planner", source: "plan-worker.ts", entry: "planner" },
];

/**
 * The files of the page of the repository at `root`, by their paths below its folder, and the source files of which
 * something was bundled.
 */
export async function bundlePage(root) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: {
      main: join(root, "web/main.tsx"),
      page: join(root, "web/style/main.css"),
      planner: join(root, "web/views/plan/plan-worker.ts"),
    },
    outdir: join(root, "dist/ui/assets"),
    tsconfig: join(root, "web/tsconfig.json"),
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "browser",
    target: ["es2022", "chrome105", "firefox110", "safari16.4"],
    minify: true,
    metafile: true,
    write: false,
    legalComments: "none",
    logLevel: "error",
  });
  const names = outputFiles.map(({ path }) => path.slice(path.lastIndexOf("/") + 1));
  const named = (entry) => names.find((name) => name.startsWith(`${entry}-`));
  const document = references.reduce(
    (text, { attribute, source, entry }) =>
      text.replace(`${attribute}="${source}"`, `${attribute}="/assets/${named(entry)}"`),
    readFileSync(join(root, "web/index.html"), "utf8"),
  );
  const files = outputFiles.map(({ contents }, index) => [`assets/${names[index]}`, contents]);
  const all = [["index.html", Buffer.from(document)], ...files];
  return {
    files: new Map(
      all.flatMap(([path, contents]) => [
        [path, contents],
        [`${path}.gz`, compressed(contents)],
      ]),
    ),
    sources: ["web/index.html", ...Object.keys(metafile.inputs)],
  };
}

function compressed(contents) {
  return gzipSync(contents, { level: constants.Z_BEST_COMPRESSION });
}
