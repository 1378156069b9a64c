import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { dataDirPacketRules } from "../../../src/app/packet-rules.ts";
import type { ManagedContainerdOptions } from "../../../src/drivers/containerd/managed-containerd.ts";

/** What is still on the machine of a managed containerd: processes, mounts, cgroups, the bridge, rules, cached results. */
export function findLeftovers({ dataDir, bridge }: ManagedContainerdOptions): readonly string[] {
  const rules = execFileSync("iptables", ["-w", "-t", "nat", "-S"], { encoding: "utf8" });
  const filters = execFileSync("iptables", ["-w", "-S"], { encoding: "utf8" });
  const mounts = readFileSync("/proc/self/mountinfo", "utf8");
  return [
    ...processesNaming(dataDir).map((text) => `process ${text}`),
    ...linesWith(mounts, dataDir).map((line) => `mount ${line}`),
    ...linesWith(rules, `name: \\"${bridge}\\"`).map((line) => `rule ${line}`),
    ...linesWith(filters, `-i ${bridge} `).map((line) => `rule ${line}`),
    ...rulesOfDataDir(filters, dataDir).map((line) => `rule ${line}`),
    ...findCgroups(`/${bridge}`).map((path) => `cgroup ${path}`),
    ...(existsSync(`/sys/class/net/${bridge}`) ? [`interface ${bridge}`] : []),
    ...cachedResults(bridge).map((name) => `cached CNI result ${name}`),
  ];
}

/** The rules that `berth up` keeps where the runtime is not its own. */
export function rulesOfDataDir(filters: string, dataDir: string): readonly string[] {
  return dataDirPacketRules(dataDir).flatMap(({ words }) => {
    const comment = words[words.indexOf("--comment") + 1] ?? "";
    return linesWith(filters, `"${comment}"`);
  });
}

/** Removes a cgroup that has no processes, with all below it, from every hierarchy. */
export function removeCgroups(path: string): void {
  for (const folder of findCgroups(path)) removeFolders(folder);
}

/** The folders of a cgroup, one in every hierarchy that has it. */
export function findCgroups(path: string): readonly string[] {
  const base = "/sys/fs/cgroup";
  const hierarchies = existsSync(`${base}/cgroup.controllers`)
    ? [base]
    : readdirSync(base).map((name) => `${base}/${name}`);
  return hierarchies.map((folder) => folder + path).filter((folder) => existsSync(folder));
}

function removeFolders(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeFolders(`${folder}/${entry.name}`);
  }
  rmdirSync(folder);
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
