import { lookup } from "node:dns/promises";
import { existsSync, readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { availableParallelism, cpus, networkInterfaces, release } from "node:os";
import { join } from "node:path";
import { parseIpAddress } from "../../lib/ip-address.ts";
import type { HugePages, MachineInfo, SystemInfo } from "../../model/machine-info.ts";
import type { NodeFacts } from "../../ports/node-facts.ts";
import { chooseDefaultIp } from "./default-route.ts";

const uuidFiles = [
  "/sys/class/dmi/id/product_uuid",
  "/proc/device-tree/system-id",
  "/proc/device-tree/vm,uuid",
  "/etc/machine-id",
];

/** What this machine tells of itself. */
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
    const tables = { ipv4: readTable("/proc/net/route"), ipv6: readTable("/proc/net/ipv6_route") };
    return chooseDefaultIp(tables, networkInterfaces(), family);
  },
};

async function readMachine(): Promise<MachineInfo> {
  const memory = await readFile("/proc/meminfo", "utf8");
  return {
    cpuCount: cpus().length || availableParallelism(),
    memoryBytes: memoryBytes(memory, "MemTotal"),
    swapBytes: memoryBytes(memory, "SwapTotal"),
    hugePages: await readHugePages("/sys/kernel/mm/hugepages"),
    machineId: await firstText(["/etc/machine-id", "/var/lib/dbus/machine-id"]),
    systemUuid: await firstText(uuidFiles),
    bootId: await firstText(["/proc/sys/kernel/random/boot_id"]),
  };
}

async function readSystem(): Promise<SystemInfo> {
  const text = (await readText("/etc/os-release")) ?? (await readText("/usr/lib/os-release")) ?? "";
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

async function readHugePages(folder: string): Promise<readonly HugePages[]> {
  const names = await readdir(folder).catch(() => []);
  const sizes = names.flatMap((name) => {
    const size = /^hugepages-(\d+)kB$/.exec(name)?.[1];
    return size === undefined ? [] : [{ name, pageSizeKb: Number(size) }];
  });
  return await Promise.all(
    sizes.map(async ({ name, pageSizeKb }) => ({
      pageSizeKb,
      count: Number((await readText(join(folder, name, "nr_hugepages"))) ?? 0),
    })),
  );
}

/** What the first of the files says that says anything. */
async function firstText(paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    const text = (await readText(path))?.replaceAll("\0", "").trim() ?? "";
    if (text !== "") return text;
  }
  return "";
}

/** Empty where the kernel does not know the family. */
function readTable(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

async function readText(path: string): Promise<string | undefined> {
  return await readFile(path, "utf8").catch(() => undefined);
}
