import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, networkInterfaces, release } from "node:os";
import { parseIpAddress } from "../../lib/ip-address.ts";
import type { MachineInfo, SystemInfo } from "../../model/machine-info.ts";
import type { NodeFacts } from "../../ports/node-facts.ts";
import { chooseDefaultIp } from "./default-route.ts";
import { readHugePages } from "./huge-pages.ts";

const uuidFiles = [
  "/sys/class/dmi/id/product_uuid",
  "/proc/device-tree/system-id",
  "/proc/device-tree/vm,uuid",
  "/etc/machine-id",
];

/** Facts about this machine. */
export const linuxNodeFacts: NodeFacts = {
  readMachine,
  readSystem,
  listIps: () =>
    Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .map(({ address }) => parseIpAddress(address)?.text ?? address),
  lookUp: async (name) => {
    const found = await lookup(name, { all: true }).catch(() => []);
    return found.map(({ address }) => address);
  },
  defaultIp: (family) => {
    const tables = {
      ipv4: readText("/proc/net/route") ?? "",
      ipv6: readText("/proc/net/ipv6_route") ?? "",
    };
    return chooseDefaultIp(tables, networkInterfaces(), family);
  },
};

function readMachine(): MachineInfo {
  const memory = readFileSync("/proc/meminfo", "utf8");
  return {
    cpuCount: cpus().length || availableParallelism(),
    memoryBytes: memoryBytes(memory, "MemTotal"),
    swapBytes: memoryBytes(memory, "SwapTotal"),
    hugePages: readHugePages("/sys/kernel/mm/hugepages"),
    machineId: firstText(["/etc/machine-id", "/var/lib/dbus/machine-id"]),
    systemUuid: firstText(uuidFiles),
    bootId: firstText(["/proc/sys/kernel/random/boot_id"]),
  };
}

function readSystem(): SystemInfo {
  const text = readText("/etc/os-release") ?? readText("/usr/lib/os-release") ?? "";
  return { kernelVersion: release(), osImage: parseOsImage(text) };
}

/** The name that a system goes by in its os-release file. */
export function parseOsImage(osRelease: string): string {
  const value = /^PRETTY_NAME=(.*)$/m.exec(osRelease)?.[1]?.trim() ?? "";
  return value === "" ? "Linux" : value.replace(/^(["'])(.*)\1$/, "$2");
}

function memoryBytes(text: string, field: string): bigint {
  return BigInt(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0) * 1024n;
}

/** What the first of the files says that says anything. */
function firstText(paths: readonly string[]): string {
  for (const path of paths) {
    const text = readText(path)?.replaceAll("\0", "").trim() ?? "";
    if (text !== "") return text;
  }
  return "";
}

/** Undefined where there is no such file, or not for us. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
