import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import {
  CNI_PLUGINS,
  type CniPlugins,
  type Machine,
  type MachineCgroups,
  TOOLS,
  type Tool,
} from "../../model/machine.ts";

// A service's PATH often lacks the sbin folders that hold runc and iptables.
const TOOL_FOLDERS = [
  "/usr/local/sbin",
  "/usr/local/bin",
  "/usr/sbin",
  "/usr/bin",
  "/sbin",
  "/bin",
];
const CNI_FOLDERS = ["/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"];

/** Reads the machine's state without changing it. */
export function readMachine(): Machine {
  const tools: Partial<Record<Tool, string>> = {};
  for (const tool of TOOLS) {
    const path = findTool(tool);
    if (path !== undefined) tools[tool] = path;
  }
  return {
    isRoot: process.geteuid?.() === 0,
    capabilities: parseCapabilities(readText("/proc/self/status")),
    kernelRelease: release(),
    overlayKnown: /\toverlay$/m.test(readText("/proc/filesystems")),
    cgroups: readCgroups(),
    tools,
    cni: findCniPlugins(CNI_FOLDERS),
    uplink: readUplink(),
  };
}

/** The capabilities of /proc/PID/status that can be used and are not bounded away. */
export function parseCapabilities(status: string): bigint {
  const mask = (field: string): bigint => {
    const hex = new RegExp(`^${field}:\\s*([0-9a-f]+)$`, "m").exec(status)?.[1];
    return hex === undefined ? 0n : BigInt(`0x${hex}`);
  };
  return mask("CapEff") & mask("CapBnd");
}

function findTool(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(":"), ...TOOL_FOLDERS];
  return folders
    .filter((folder) => folder.startsWith("/"))
    .map((folder) => join(folder, name))
    .find(isExecutableFile);
}

function findCniPlugins(searched: readonly string[]): CniPlugins {
  const found = searched.map((folder) => ({
    folder,
    missing: CNI_PLUGINS.filter((plugin) => !isExecutableFile(join(folder, plugin))),
  }));
  const [best] = found.toSorted((a, b) => a.missing.length - b.missing.length);
  if (best === undefined || best.missing.length === CNI_PLUGINS.length) {
    return { searched, folder: undefined, missing: CNI_PLUGINS };
  }
  return { searched, ...best };
}

function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function readCgroups(): MachineCgroups {
  const v2 = readText("/sys/fs/cgroup/cgroup.controllers").trim();
  if (v2 !== "") return { version: "v2", controllers: v2.split(" ") };
  const mounts = readText("/proc/self/mounts");
  const controllers = [...readText("/proc/cgroups").matchAll(/^(\w+)\t\d+\t\d+\t1$/gm)]
    .map(([, name]) => name ?? "")
    .filter((name) => new RegExp(` cgroup [^ ]*\\b${name}\\b`, "m").test(mounts));
  return { version: controllers.length === 0 ? "none" : "v1", controllers };
}

function readUplink(): Machine["uplink"] {
  const name = /^(\S+)\t0{8}\t/m.exec(readText("/proc/net/route"))?.[1];
  if (name === undefined) return undefined;
  const mtu = Number(readText(`/sys/class/net/${name}/mtu`));
  return mtu > 0 ? { name, mtu } : undefined;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
