import { quoteText } from "../../../lib/go-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import {
  areSameCpus,
  type CpuSet,
  cpuSetText,
  intersectCpus,
  noCpus,
  unionCpus,
  withoutCpus,
} from "../../../model/cpu-set.ts";
import type { AllocationError } from "../topology/allocation-error.ts";
import type { NumaNodes } from "../topology/hints.ts";
import type { CpuState } from "./cpu-state.ts";
import {
  type CpuTopology,
  cpusIn,
  cpusOf,
  cpusPerCore,
  partsOf,
  placesOf,
} from "./cpu-topology.ts";
import { takeDistributed } from "./distribute-cpus.ts";
import type { StaticOptions } from "./static-options.ts";
import { takePacked } from "./take-cpus.ts";

/** Containers of Guaranteed pods that ask for whole CPUs get some for themselves. */
export interface StaticPolicy {
  readonly topology: CpuTopology;
  readonly options: StaticOptions;
  /** Never exclusive. */
  readonly reserved: CpuSet;
  /** With all CPUs that share a core with one of them. */
  readonly reservedCores: CpuSet;
}

export function staticPolicy(
  topology: CpuTopology,
  options: StaticOptions,
  reservation: { readonly count: number; readonly cpus: CpuSet },
): Result<StaticPolicy, string> {
  const { count, cpus } = reservation;
  const reserved = cpus.length > 0 ? cpus : lowestCpus({ topology, options }, count);
  if (reserved.length !== count) {
    return err(
      `[cpumanager] unable to reserve the required amount of CPUs (size of ${cpuSetText(reserved)} did not equal ${count})`,
    );
  }
  const unknown = reserved.find((cpu) => !topology.places.has(cpu));
  if (unknown !== undefined) {
    return err(
      `[cpumanager] unable to build the reserved physical CPUs from the reserved set: unknown CPU ID: ${unknown}`,
    );
  }
  const cores = partsOf(placesOf(topology.places, reserved), "core");
  return ok({ topology, options, reserved, reservedCores: cpusIn(topology.places, "core", cores) });
}

function lowestCpus(machine: Pick<StaticPolicy, "topology" | "options">, count: number): CpuSet {
  const taken = takeCpus(machine, cpusOf(machine.topology.places), count);
  return taken.ok ? taken.value : noCpus;
}

/** Takes CPUs as the options say. */
function takeCpus(
  { topology, options }: Pick<StaticPolicy, "topology" | "options">,
  free: CpuSet,
  count: number,
): Result<CpuSet, string> {
  const packing = {
    spreadAcrossCores: options.has("distribute-cpus-across-cores"),
    preferUncoreCaches: options.has("prefer-align-cpus-by-uncorecache"),
  };
  if (!options.has("distribute-cpus-across-numa")) {
    return takePacked(topology, free, count, packing);
  }
  const groupSize = options.has("full-pcpus-only") ? cpusPerCore(topology) : 1;
  return takeDistributed(topology, free, count, { ...packing, groupSize });
}

/** The same in words. */
export function choiceText({ options }: Pick<StaticPolicy, "options">): string {
  const byCache = options.has("prefer-align-cpus-by-uncorecache") ? " that share a cache" : "";
  if (options.has("distribute-cpus-across-numa")) return `spread over NUMA nodes${byCache}`;
  return options.has("distribute-cpus-across-cores")
    ? `spread over cores${byCache}`
    : `free CPUs as close together as can be${byCache}`;
}

/** The state to start with, by what was found on disk; an error where it does not fit this machine or these options. */
export function startStaticPolicy(policy: StaticPolicy, state: CpuState): Result<CpuState, string> {
  const { shared, assignments } = state;
  const isStrict = policy.options.has("strict-cpu-reservation");
  const allCpus = cpusOf(policy.topology.places);
  const usable = isStrict ? withoutCpus(allCpus, policy.reserved) : allCpus;
  if (shared.length === 0) {
    return assignments.size === 0
      ? ok({ ...state, shared: usable })
      : err("default cpuset cannot be empty");
  }
  const problem = reservationProblem(policy, shared) ?? overlapProblem(state);
  if (problem !== undefined) return err(problem);
  const assigned = Array.from(assignments.values()).flatMap((ofPod) => [...ofPod.values()]);
  const known = unionCpus(shared, ...assigned);
  return areSameCpus(known, usable)
    ? ok(state)
    : err(
        `current set of available CPUs ${quoteText(cpuSetText(usable))} doesn't match with CPUs in state ${quoteText(cpuSetText(known))}`,
      );
}

function reservationProblem(
  { options, reserved }: StaticPolicy,
  shared: CpuSet,
): string | undefined {
  const found = intersectCpus(reserved, shared);
  const sharedText = quoteText(cpuSetText(shared));
  if (options.has("strict-cpu-reservation")) {
    return found.length === 0
      ? undefined
      : `some of strictly reserved cpus: ${quoteText(cpuSetText(found))} are present in defaultCpuSet: ${sharedText}`;
  }
  return areSameCpus(found, reserved)
    ? undefined
    : `not all reserved cpus: ${quoteText(cpuSetText(reserved))} are present in defaultCpuSet: ${sharedText}`;
}

function overlapProblem({ shared, assignments }: CpuState): string | undefined {
  for (const [podUid, ofPod] of assignments) {
    for (const [container, cpus] of ofPod) {
      if (intersectCpus(shared, cpus).length === 0) continue;
      return `pod: ${podUid}, container: ${container} cpuset: ${quoteText(cpuSetText(cpus))} overlaps with default cpuset ${quoteText(cpuSetText(shared))}`;
    }
  }
  return undefined;
}

/** The CPUs that are left to be handed out. */
export function freeCpus({ reserved }: StaticPolicy, { shared }: CpuState): CpuSet {
  return withoutCpus(shared, reserved);
}

/** Why whole cores cannot be given, where only these are. */
export function smtProblem(
  { topology, options, reservedCores }: StaticPolicy,
  { shared }: CpuState,
  count: number,
): AllocationError | undefined {
  if (!options.has("full-pcpus-only")) return undefined;
  const perCore = cpusPerCore(topology);
  const reason = "SMTAlignmentError";
  if (count % perCore !== 0) {
    return {
      reason,
      message: `SMT Alignment Error: requested ${count} cpus not multiple cpus per core = ${perCore}`,
    };
  }
  const free = withoutCpus(shared, reservedCores).length;
  if (count <= free) return undefined;
  return {
    reason,
    message: `SMT Alignment Error: not enough free physical CPUs: available physical CPUs = ${free}, requested CPUs = ${count}, CPUs per core = ${perCore}`,
  };
}

export interface CpuRequest {
  readonly count: number;
  /** From which nodes CPUs are taken first; undefined is from any. */
  readonly nodes: NumaNodes | undefined;
  /** CPUs of init containers that have ended by then. */
  readonly reusable: CpuSet;
}

export function chooseCpus(
  policy: StaticPolicy,
  state: CpuState,
  { count, nodes, reusable }: CpuRequest,
): Result<CpuSet, string> {
  const usable = unionCpus(freeCpus(policy, state), reusable);
  let aligned = noCpus;
  if (nodes !== undefined) {
    const near = intersectCpus(usable, cpusNear(policy, nodes));
    const taken = takeCpus(policy, near, Math.min(count, near.length));
    if (!taken.ok) return taken;
    aligned = taken.value;
  }
  const rest = takeCpus(policy, withoutCpus(usable, aligned), count - aligned.length);
  return rest.ok ? ok(unionCpus(aligned, rest.value)) : rest;
}

function cpusNear({ topology: { places }, options }: StaticPolicy, nodes: NumaNodes): CpuSet {
  const inNodes = cpusIn(places, "numaNode", nodes);
  if (!options.has("align-by-socket")) return inNodes;
  return cpusIn(places, "socket", partsOf(placesOf(places, inNodes), "socket"));
}
