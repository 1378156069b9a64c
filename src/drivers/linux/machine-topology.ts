import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type CpuSet, cpuSet, parseCpuSet } from "../../model/cpu-set.ts";
import type { CpuCore, MachineTopology, NumaNode } from "../../model/machine-topology.ts";
import type { MachineTopologyReader } from "../../ports/machine-topology.ts";
import { readHugePages } from "./huge-pages.ts";

/** Cores have caches of the levels before. */
const firstUncoreLevel = 3;

/** The topology of this machine, as far as its kernel reports it. */
export function createMachineTopologyReader(folder = "/sys/devices/system"): MachineTopologyReader {
  return { read: async () => readTopology(folder) };
}

interface Cpu {
  readonly id: number;
  readonly socket: number;
  /** The kernel's number of the core, which repeats on each socket. */
  readonly core: number;
}

function readTopology(folder: string): MachineTopology {
  const online = readCpus(join(folder, "cpu"));
  const nodes = numberedEntries(join(folder, "node"), "node");
  const numaNodes =
    nodes.length > 0
      ? nodes.map((id) => readNode(folder, id, online))
      : nodesOfSockets(join(folder, "cpu"), online);
  return {
    cpuCount: numaNodes.flatMap(({ cores }) => cores.flatMap(({ cpus }) => cpus)).length,
    socketCount: new Set(Array.from(online.values(), ({ socket }) => socket)).size,
    numaNodes,
  };
}

function readNode(folder: string, id: number, online: ReadonlyMap<number, Cpu>): NumaNode {
  const own = join(folder, "node", `node${id}`);
  const cpus = numberedEntries(own, "cpu")
    .map((cpu) => online.get(cpu))
    .filter((cpu) => cpu !== undefined);
  const distances = readText(join(own, "distance"))?.trim();
  return {
    id,
    memoryBytes: memoryBytes(readText(join(own, "meminfo")) ?? ""),
    hugePages: readHugePages(join(own, "hugepages")),
    cores: coresOf(join(folder, "cpu"), cpus),
    ...(distances && { distances: distances.split(" ").map(Number) }),
  };
}

/** A kernel without NUMA: each socket counts as a node, of whose memory nothing is known. */
function nodesOfSockets(folder: string, online: ReadonlyMap<number, Cpu>): readonly NumaNode[] {
  const cpus = [...online.values()];
  return cpuSet(cpus.map(({ socket }) => socket)).map((socket) => ({
    id: socket,
    memoryBytes: 0n,
    hugePages: [],
    cores: coresOf(
      folder,
      cpus.filter((cpu) => cpu.socket === socket),
    ),
  }));
}

/** The CPUs that are online and whose place is known. */
function readCpus(folder: string): ReadonlyMap<number, Cpu> {
  const isOnline = onlineCpus(readText(join(folder, "online")));
  const cpus = new Map<number, Cpu>();
  for (const id of numberedEntries(folder, "cpu")) {
    const socket = readNumber(join(folder, `cpu${id}`, "topology/physical_package_id"));
    const core = readNumber(join(folder, `cpu${id}`, "topology/core_id"));
    if (isOnline(id) && socket !== undefined && core !== undefined) {
      cpus.set(id, { id, socket, core });
    }
  }
  return cpus;
}

/** Without the file CPUs cannot be taken offline. */
function onlineCpus(text: string | undefined): (cpu: number) => boolean {
  const listed = text === undefined ? undefined : parseCpuSet(text.trim());
  if (listed?.ok !== true) return () => true;
  const online = new Set<number>(listed.value);
  return (cpu) => online.has(cpu);
}

function coresOf(folder: string, cpus: readonly Cpu[]): readonly CpuCore[] {
  const cores = new Map<string, { socket: number; cpus: number[] }>();
  for (const { id, socket, core } of cpus) {
    const key = `${socket}/${core}`;
    const known = cores.get(key);
    if (known === undefined) cores.set(key, { socket, cpus: [id] });
    else known.cpus.push(id);
  }
  return Array.from(cores.values(), (core) => ({
    ...core,
    uncoreCaches: uncoreCaches(folder, core.cpus, cores.size * core.cpus.length),
  }));
}

/** Of the caches beyond the core those that not all CPUs of the node share. */
function uncoreCaches(folder: string, cpus: CpuSet, cpusOfNode: number): readonly number[] {
  const caches = join(folder, `cpu${cpus[0] ?? 0}`, "cache");
  const found = new Set<number>();
  for (const index of numberedEntries(caches, "index")) {
    const own = join(caches, `index${index}`);
    const level = readNumber(join(own, "level"));
    const id = readNumber(join(own, "id"));
    const shared = parseCpuSet(readText(join(own, "shared_cpu_list"))?.trim() ?? "");
    if (level === undefined || level < firstUncoreLevel || id === undefined || !shared.ok) continue;
    if (shared.value.length !== cpusOfNode) found.add(id);
  }
  return [...found];
}

/** The numbers of all entries such as cpu7, ascending. */
function numberedEntries(folder: string, prefix: string): readonly number[] {
  const numbers = listNames(folder)
    .filter((name) => name.startsWith(prefix))
    .map((name) => wholeNumber(name.slice(prefix.length)));
  return cpuSet(numbers.filter((number) => number !== undefined));
}

function memoryBytes(meminfo: string): bigint {
  return BigInt(/\bMemTotal:\s+(\d+) kB/.exec(meminfo)?.[1] ?? 0) * 1024n;
}

function readNumber(path: string): number | undefined {
  return wholeNumber(readText(path)?.trim() ?? "");
}

function wholeNumber(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
