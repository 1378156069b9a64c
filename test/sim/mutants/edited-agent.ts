import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { assert } from "../../../src/lib/assert.ts";
import type { runSeed } from "../simulator/run-seed.ts";

/** A change of the source that breaks a rule. */
export interface SourceEdit {
  /** Below the repository. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly from: string;
  readonly to: string;
}

declare const BERTH_REPOSITORY: string;

/** The simulator with an agent whose source was edited. */
export async function importEdited(edit: SourceEdit): Promise<typeof runSeed> {
  const folder = join(BERTH_REPOSITORY, "node_modules", ".cache", "berth-run");
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `mutant-${process.pid}-${edit.from.length}-${edit.to.length}.mjs`);
  await build({
    entryPoints: [join(BERTH_REPOSITORY, "test/sim/simulator/run-seed.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    logLevel: "error",
    plugins: [editing(edit)],
  });
  try {
    const edited: unknown = await import(pathToFileURL(outfile).href);
    return (edited as { readonly runSeed: typeof runSeed }).runSeed;
  } finally {
    rmSync(outfile, { force: true });
  }
}

function editing({ file, from, to }: SourceEdit): Plugin {
  const path = join(BERTH_REPOSITORY, file);
  return {
    name: "edit",
    setup: (bundle) => {
      bundle.onLoad({ filter: /\.ts$/ }, (loaded) => {
        if (loaded.path !== path) return undefined;
        const source = readFileSync(path, "utf8");
        assert(source.split(from).length === 2, `${file} does not have once: ${from}`);
        return { contents: source.replace(from, to), loader: "ts" };
      });
    },
  };
}
