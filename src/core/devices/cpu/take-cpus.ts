import { err, ok, type Result } from "../../../lib/result.ts";
import { type CpuSet, noCpus, unionCpus, withoutCpus } from "../../../model/cpu-set.ts";
import {
  type CpuPlace,
  type CpuPlaces,
  type CpuTopology,
  cpusIn,
  cpusOf,
  cpusPerCore,
  cpusPerSocket,
  cpusPerUncoreCache,
  partsOf,
  placesOf,
} from "./cpu-topology.ts";

export interface PackOptions {
  /** Threads of different cores are taken first, where whole cores are otherwise. */
  readonly spreadAcrossCores: boolean;
  readonly preferUncoreCaches: boolean;
}

/** Takes as many free CPUs as are needed from as few parts of the machine as possible, the fullest parts first. */
export function takePacked(
  topology: CpuTopology,
  free: CpuSet,
  count: number,
  options: PackOptions,
): Result<CpuSet, string> {
  const taking = new CpuTaking(topology, free, count);
  if (taking.missing < 1) return ok(taking.taken);
  if (taking.missing > taking.freeCount) return err(notEnough(count, free));
  const steps = [
    ...taking.levels.map((kind) => () => taking.takeWhole(kind)),
    ...(options.preferUncoreCaches ? [() => taking.takeUncoreCaches()] : []),
    ...(options.spreadAcrossCores ? [] : [() => taking.takeWhole("core")]),
    () => taking.takeSingle(options.spreadAcrossCores),
  ];
  for (const step of steps) {
    step();
    if (taking.missing < 1) return ok(taking.taken);
  }
  return err("failed to allocate cpus");
}

export function notEnough(count: number, free: CpuSet): string {
  return `not enough cpus available to satisfy request: requested=${count}, available=${free.length}`;
}

/** CPUs on their way from free to taken. */
export class CpuTaking {
  taken: CpuSet = noCpus;
  missing: number;
  readonly #topology: CpuTopology;
  #free: CpuPlaces;
  /** NUMA nodes and sockets, those first that contain the others. */
  readonly levels: readonly ["numaNode", "socket"] | readonly ["socket", "numaNode"];

  constructor(topology: CpuTopology, free: CpuSet, count: number) {
    this.#topology = topology;
    this.#free = placesOf(topology.places, free);
    this.missing = count;
    this.levels =
      topology.socketCount >= topology.numaNodeCount
        ? ["numaNode", "socket"]
        : ["socket", "numaNode"];
  }

  get freeCount(): number {
    return this.#free.size;
  }

  freeIn(kind: keyof CpuPlace, part: number): CpuSet {
    return cpusIn(this.#free, kind, [part]);
  }

  take(cpus: CpuSet): void {
    this.taken = unionCpus(this.taken, cpus);
    this.#free = placesOf(this.#free, withoutCpus(cpusOf(this.#free), this.taken));
    this.missing -= cpus.length;
  }

  /** Takes parts of which all CPUs are free, for as long as no less than a whole one is needed. */
  takeWhole(kind: keyof CpuPlace): void {
    const whole = this.#sorted(kind).filter((part) => this.#isFree(kind, part));
    for (const part of whole) {
      const cpus = cpusIn(this.#topology.places, kind, [part]);
      if (this.missing >= cpus.length) this.take(cpus);
    }
  }

  #isFree(kind: keyof CpuPlace, part: number): boolean {
    const freeCount = this.freeIn(kind, part).length;
    if (kind === "socket") return freeCount === cpusPerSocket(this.#topology);
    if (kind === "core") return freeCount === cpusPerCore(this.#topology);
    return freeCount === cpusIn(this.#topology.places, kind, [part]).length;
  }

  takeUncoreCaches(): void {
    for (const cache of this.#sorted("uncoreCache")) {
      if (this.missing >= cpusPerUncoreCache(this.#topology)) this.takeWhole("uncoreCache");
      if (this.missing < 1) return;
      this.#takeWithinCache(cache);
      if (this.missing < 1) return;
    }
  }

  /** Takes all that is missing from one cache, or nothing. */
  #takeWithinCache(cache: number): void {
    const perCore = cpusPerCore(this.#topology);
    const coreCount = Math.ceil(this.missing / perCore);
    const inCache = placesOf(this.#free, this.freeIn("uncoreCache", cache));
    const cores = partsOf(inCache, "core").slice(0, coreCount);
    const cpus = cpusIn(this.#free, "core", cores);
    // Of the last core one thread is enough for an odd number.
    const isOneTooMany = this.missing % 2 !== 0 && perCore > 1 && cpus.length > this.missing;
    const wanted = isOneTooMany ? cpus.slice(0, -1) : cpus;
    if (wanted.length === this.missing) this.take(wanted);
  }

  takeSingle(spreadAcrossCores: boolean): void {
    const cpus = this.#sorted(spreadAcrossCores ? "socket" : "core").flatMap((part) =>
      this.freeIn(spreadAcrossCores ? "socket" : "core", part),
    );
    for (const cpu of cpus) {
      this.take([cpu]);
      if (this.missing < 1) return;
    }
  }

  numaNodes(): readonly number[] {
    return this.#sorted("numaNode");
  }

  /** All parts with free CPUs: inside the same larger part the ones with fewer of them come first. */
  #sorted(kind: keyof CpuPlace): readonly number[] {
    const outer = this.#outerKind(kind);
    if (outer === undefined) return this.#byFreeCount(this.#free, kind);
    return this.#sorted(outer).flatMap((part) =>
      this.#byFreeCount(placesOf(this.#free, this.freeIn(outer, part)), kind),
    );
  }

  #outerKind(kind: keyof CpuPlace): keyof CpuPlace | undefined {
    const [first, second] = this.levels;
    if (kind === first) return undefined;
    if (kind === second) return first;
    return kind === "core" ? second : "numaNode";
  }

  #byFreeCount(places: CpuPlaces, kind: keyof CpuPlace): readonly number[] {
    const counts = new Map<number, number>();
    for (const place of this.#free.values()) {
      counts.set(place[kind], (counts.get(place[kind]) ?? 0) + 1);
    }
    const countOf = (part: number) => counts.get(part) ?? 0;
    return partsOf(places, kind).toSorted((a, b) => countOf(a) - countOf(b) || a - b);
  }
}
