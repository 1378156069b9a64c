import { err, ok, type Result } from "../../../lib/result.ts";
import { type CpuSet, cpuSet } from "../../../model/cpu-set.ts";
import type { CpuCore, MachineTopology } from "../../../model/machine-topology.ts";

/** Where a CPU is. A core is named by its lowest CPU: the kernel's numbers repeat on each socket. */
export interface CpuPlace {
  readonly numaNode: number;
  readonly socket: number;
  readonly core: number;
  readonly uncoreCache: number;
}

/** The places of CPUs, by their numbers. */
export type CpuPlaces = ReadonlyMap<number, CpuPlace>;

export interface CpuTopology {
  readonly cpuCount: number;
  readonly coreCount: number;
  readonly socketCount: number;
  readonly numaNodeCount: number;
  readonly uncoreCacheCount: number;
  readonly places: CpuPlaces;
}

export function cpuTopology(machine: MachineTopology): Result<CpuTopology, string> {
  if (machine.cpuCount === 0) return err("could not detect number of cpus");
  const places = new Map<number, CpuPlace>();
  for (const node of machine.numaNodes) {
    for (const core of node.cores) {
      const problem = coreProblem(core);
      if (problem !== undefined) return err(problem);
      const place: CpuPlace = {
        numaNode: node.id,
        socket: core.socket,
        core: Math.min(...core.cpus),
        uncoreCache: core.uncoreCaches[0] ?? core.socket,
      };
      for (const cpu of core.cpus) places.set(cpu, place);
    }
  }
  return ok({
    cpuCount: machine.cpuCount,
    coreCount: machine.numaNodes.reduce((sum, { cores }) => sum + cores.length, 0),
    socketCount: machine.socketCount,
    numaNodeCount: partsOf(places, "numaNode").length,
    uncoreCacheCount: partsOf(places, "uncoreCache").length,
    places,
  });
}

function coreProblem({ cpus }: CpuCore): string | undefined {
  if (cpus.length === 0) return "no cpus provided";
  return new Set(cpus).size === cpus.length ? undefined : "cpus provided are not unique";
}

export function cpusPerCore({ cpuCount, coreCount }: CpuTopology): number {
  return quotient(cpuCount, coreCount);
}

export function cpusPerSocket({ cpuCount, socketCount }: CpuTopology): number {
  return quotient(cpuCount, socketCount);
}

export function cpusPerUncoreCache({ cpuCount, uncoreCacheCount }: CpuTopology): number {
  return quotient(cpuCount, uncoreCacheCount);
}

function quotient(count: number, parts: number): number {
  return parts === 0 ? 0 : (count - (count % parts)) / parts;
}

export function cpusOf(places: CpuPlaces): CpuSet {
  return cpuSet(places.keys());
}

/** The numbers of all nodes, sockets, cores or caches that these CPUs are in. */
export function partsOf(places: CpuPlaces, kind: keyof CpuPlace): readonly number[] {
  return cpuSet(Array.from(places.values(), (place) => place[kind]));
}

/** The CPUs of certain nodes, sockets, cores or caches. */
export function cpusIn(places: CpuPlaces, kind: keyof CpuPlace, parts: readonly number[]): CpuSet {
  const wanted = new Set(parts);
  return cpuSet(
    Array.from(places).flatMap(([cpu, place]) => (wanted.has(place[kind]) ? [cpu] : [])),
  );
}

export function placesOf(places: CpuPlaces, cpus: CpuSet): CpuPlaces {
  const kept = new Set(cpus);
  return new Map(Array.from(places).filter(([cpu]) => kept.has(cpu)));
}
