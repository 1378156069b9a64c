import { err, ok, type Result } from "../../../lib/result.ts";
import type { CpuSet } from "../../../model/cpu-set.ts";
import { choices } from "../topology/hints.ts";
import { type CpuTopology, cpusOf, partsOf } from "./cpu-topology.ts";
import { CpuTaking, notEnough, type PackOptions, takePacked } from "./take-cpus.ts";

/** How CPUs are shared out: the same number from each node, and one more group from some. */
interface Distribution {
  readonly nodes: readonly number[];
  readonly nodesWithMore: readonly number[];
  /** How unequal the numbers of free CPUs are that the nodes are left with. */
  readonly imbalance: number;
}

/** Takes the same number of CPUs from each of as few NUMA nodes as can give them, in groups of `groupSize`. */
export function takeDistributed(
  topology: CpuTopology,
  free: CpuSet,
  count: number,
  options: PackOptions & { readonly groupSize: number },
): Result<CpuSet, string> {
  const { groupSize } = options;
  const packing = { ...options, preferUncoreCaches: false };
  if (count % groupSize !== 0) return takePacked(topology, free, count, packing);
  const taking = new CpuTaking(topology, free, count);
  if (taking.missing < 1) return ok(taking.taken);
  if (taking.missing > taking.freeCount) return err(notEnough(count, free));
  const nodes = taking.numaNodes();
  const freeCounts = new Map(nodes.map((node) => [node, taking.freeIn("numaNode", node).length]));
  const best = bestDistribution(topology, freeCounts, { count, groupSize });
  if (best === undefined) return takePacked(topology, free, count, packing);
  const take = (node: number, size: number) => {
    const cpus = takePacked(topology, taking.freeIn("numaNode", node), size, packing);
    if (cpus.ok) taking.take(cpus.value);
  };
  const each = evenShare({ count, groupSize }, best.nodes.length);
  for (const node of best.nodes) take(node, each);
  let remainder = count - each * best.nodes.length;
  while (remainder > 0) {
    for (const node of best.nodesWithMore) {
      if (remainder === 0) break;
      if (taking.freeIn("numaNode", node).length < groupSize) continue;
      take(node, groupSize);
      remainder -= groupSize;
    }
  }
  if (taking.missing !== 0) {
    const problem = taking.missing > 0 ? "not enough" : "too many";
    return err(`accounting error, ${problem} CPUs allocated, remaining: ${taking.missing}`);
  }
  return ok(taking.taken);
}

interface Request {
  readonly count: number;
  readonly groupSize: number;
}

function evenShare({ count, groupSize }: Request, nodeCount: number): number {
  return Math.floor(Math.floor(count / nodeCount) / groupSize) * groupSize;
}

/** Tries few nodes before more; of as many the choice that leaves the machine most balanced. */
function bestDistribution(
  topology: CpuTopology,
  freeCounts: ReadonlyMap<number, number>,
  request: Request,
): Distribution | undefined {
  const { least, most } = nodeCounts(topology, freeCounts.size, request);
  for (let size = least; size <= most; size++) {
    let best: Distribution | undefined;
    for (const nodes of choices([...freeCounts.keys()], size)) {
      const found = distribute(nodes, freeCounts, request);
      if (found !== undefined && found.imbalance < (best?.imbalance ?? Infinity)) best = found;
      if (best?.imbalance === 0) break;
    }
    if (best !== undefined) return best;
  }
  return undefined;
}

/** How many nodes the groups need when the nodes are empty, and how many can get one at most. */
function nodeCounts(
  { places }: CpuTopology,
  freeNodeCount: number,
  { count, groupSize }: Request,
): { least: number; most: number } {
  const groupCount = Math.ceil(cpusOf(places).length / groupSize);
  const groupsPerNode = Math.ceil(groupCount / partsOf(places, "numaNode").length);
  const wantedGroups = Math.ceil(count / groupSize);
  return {
    least: Math.ceil(wantedGroups / groupsPerNode),
    most: Math.min(wantedGroups, freeNodeCount),
  };
}

function distribute(
  nodes: readonly number[],
  freeCounts: ReadonlyMap<number, number>,
  request: Request,
): Distribution | undefined {
  const { count, groupSize } = request;
  const free = nodes.map((node) => freeCounts.get(node) ?? 0);
  const inGroups = free.reduce((sum, each) => sum + Math.floor(each / groupSize) * groupSize, 0);
  if (inGroups < count) return undefined;
  const each = evenShare(request, nodes.length);
  if (free.some((cpus) => cpus < each)) return undefined;
  const left = new Map(freeCounts);
  for (const node of nodes) left.set(node, (left.get(node) ?? 0) - each);
  const remainder = count - each * nodes.length;
  if (remainder === 0) {
    return { nodes, nodesWithMore: [], imbalance: deviation([...left.values()]) };
  }
  const candidates = nodes.filter((node) => (left.get(node) ?? 0) >= groupSize);
  let best: Distribution | undefined;
  for (let size = candidates.length; size >= 1; size--) {
    for (const nodesWithMore of choices(candidates, size)) {
      const after = withoutRemainder(left, nodesWithMore, { count: remainder, groupSize });
      if (after === undefined) continue;
      const imbalance = deviation([...after.values()]);
      if (imbalance < (best?.imbalance ?? Infinity)) best = { nodes, nodesWithMore, imbalance };
    }
  }
  return best;
}

/** What is free after one group at a time was taken from these nodes in turn. */
function withoutRemainder(
  left: ReadonlyMap<number, number>,
  nodes: readonly number[],
  { count, groupSize }: Request,
): ReadonlyMap<number, number> | undefined {
  const after = new Map(left);
  let remainder = count;
  while (remainder > 0) {
    const before = remainder;
    for (const node of nodes) {
      const free = after.get(node) ?? 0;
      if (remainder === 0 || free < groupSize) continue;
      after.set(node, free - groupSize);
      remainder -= groupSize;
    }
    if (remainder === before) return undefined;
  }
  return after;
}

/** The standard deviation in thousandths, so that equal ones compare as equal. */
function deviation(values: readonly number[]): number {
  const mean = rounded(values.reduce((sum, value) => sum + value, 0) / values.length);
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return rounded(Math.sqrt(squares / values.length));
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
