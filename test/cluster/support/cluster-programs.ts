import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const tools = join(import.meta.dirname, "../../../tools/cluster");
const versions = JSON.parse(readFileSync(join(tools, "versions.json"), "utf8")) as {
  readonly kubernetes: string;
  readonly etcd: string;
};

export const etcdVersion: string = versions.etcd;

/** The release of the control plane and of the Go kubelet. */
export const kubernetesVersion: string = versions.kubernetes;

/** The file of a program that tools/cluster has built. */
export function clusterProgram(name: string): string {
  const args = [join(tools, "main.mjs"), "file", name];
  const file = execFileSync(process.execPath, args, { encoding: "utf8" }).trim();
  if (existsSync(file)) return file;
  throw new Error(`${name} is not built: run node tools/cluster/main.mjs (needs Go)`);
}
