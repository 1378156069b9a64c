import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const versions = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../tools/cluster/versions.json"), "utf8"),
) as { readonly kubernetes: string; readonly etcd: string };

/** The release of the control plane and of the Go kubelet. */
export const kubernetesVersion: string = versions.kubernetes;

/** The file of a program that tools/cluster has built. */
export function clusterProgram(name: string): string {
  const source = name === "etcd" ? "etcd" : "kubernetes";
  const file = join(homedir(), ".cache", "berth", `${source}-${versions[source]}`, name);
  if (existsSync(file)) return file;
  throw new Error(`${name} is not built: run node tools/cluster/main.mjs (needs Go)`);
}
