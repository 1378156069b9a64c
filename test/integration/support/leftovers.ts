import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { ManagedContainerdOptions } from "../../../src/drivers/containerd/managed-containerd.ts";

/** What is still on the machine of a managed containerd: processes, mounts, the bridge, rules, cached results. */
export async function findLeftovers({
  dataDir,
  bridge,
}: ManagedContainerdOptions): Promise<readonly string[]> {
  const rules = execFileSync("iptables", ["-w", "-t", "nat", "-S"], { encoding: "utf8" });
  const mounts = readFileSync("/proc/self/mountinfo", "utf8");
  return [
    ...processesNaming(dataDir).map((text) => `process ${text}`),
    ...linesWith(mounts, dataDir).map((line) => `mount ${line}`),
    ...linesWith(rules, `name: \\"${bridge}\\"`).map((line) => `rule ${line}`),
    ...(existsSync(`/sys/class/net/${bridge}`) ? [`interface ${bridge}`] : []),
    ...cachedResults(bridge).map((name) => `cached CNI result ${name}`),
  ];
}

function processesNaming(text: string): readonly string[] {
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && pid !== String(process.pid))
    .map((pid) => `${pid} ${commandLine(pid)}`)
    .filter((line) => line.includes(text));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

function cachedResults(network: string): readonly string[] {
  const folder = "/var/lib/cni/results";
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => name.startsWith(`${network}-`));
}

function linesWith(text: string, part: string): readonly string[] {
  return text.split("\n").filter((line) => line.includes(part));
}
