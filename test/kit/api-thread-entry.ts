import { createHash } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { buildSync } from "esbuild";

const root = resolve(import.meta.dirname, "../..");
const bundles = new Map<string, URL>();

/**
 * The program of the kubelet API's thread, bundled from its source once per test process: Node's workers do not read
 * TypeScript. `source` is another program than the agent's own, below the repository.
 */
export function apiThreadEntry(source = "src/app/kubelet-api-thread.ts"): URL {
  const known = bundles.get(source);
  if (known !== undefined) return known;
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
  const folder = join(root, "node_modules", ".cache", "berth-threads");
  mkdirSync(folder, { recursive: true });
  // Test processes that run beside this one have the same program under the same name.
  const digest = createHash("sha256").update(program).digest("hex").slice(0, 16);
  const path = join(folder, `${basename(source, ".ts")}-${digest}.mjs`);
  writeFileSync(`${path}.${process.pid}`, program);
  renameSync(`${path}.${process.pid}`, path);
  const bundle = pathToFileURL(path);
  bundles.set(source, bundle);
  return bundle;
}
