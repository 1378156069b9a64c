import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { buildSync } from "esbuild";

const bundles = new Map<string, string>();

/**
 * A program of the agent, or of a test, bundled from its source once per test process: neither Node's workers nor its processes
 * read TypeScript. `source` is a path below the repository.
 */
export function bundledEntry(source: string): string {
  const known = bundles.get(source);
  if (known !== undefined) return known;
  const root = repositoryRoot(import.meta.dirname);
  const { outputFiles } = buildSync({
    entryPoints: [join(root, source)],
    write: false,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "error",
  });
  const program = outputFiles[0]?.contents ?? new Uint8Array();
  const folder = join(root, "node_modules", ".cache", "berth-entries");
  mkdirSync(folder, { recursive: true });
  // Test processes that run beside this one have the same program under the same name.
  const digest = createHash("sha256").update(program).digest("hex").slice(0, 16);
  const path = join(folder, `${basename(source, ".ts")}-${digest}.mjs`);
  writeFileSync(`${path}.${process.pid}`, program);
  renameSync(`${path}.${process.pid}`, path);
  bundles.set(source, path);
  return path;
}

/** Also of a bundle of this file, which tools/run.mjs lays into a folder of its own. */
function repositoryRoot(folder: string): string {
  if (existsSync(join(folder, "src/cli/berth.ts"))) return folder;
  const above = dirname(folder);
  if (above === folder) throw new Error("the tests lie in no clone of the repository");
  return repositoryRoot(above);
}
