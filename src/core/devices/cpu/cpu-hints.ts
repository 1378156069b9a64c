import { type CpuSet, intersectCpus } from "../../../model/cpu-set.ts";
import { type NumaNodes, numaNodeChoices, type TopologyHint } from "../topology/hints.ts";
import { type CpuTopology, cpusIn, partsOf, placesOf } from "./cpu-topology.ts";
import type { StaticPolicy } from "./static-policy.ts";

/** The choices of nodes with enough CPUs that are free or, all of them, to be used again. Those that need the fewest nodes are preferred. */
export function cpuHints(
  { topology, options }: StaticPolicy,
  count: number,
  cpus: { readonly free: CpuSet; readonly reusable: CpuSet },
): TopologyHint[] {
  const { places } = topology;
  const allNodes = partsOf(places, "numaNode");
  let fewest = allNodes.length;
  const possible: NumaNodes[] = [];
  for (const nodes of numaNodeChoices(allNodes)) {
    const inNodes = cpusIn(places, "numaNode", nodes);
    if (inNodes.length >= count && nodes.length < fewest) fewest = nodes.length;
    const reused = intersectCpus(cpus.reusable, inNodes);
    if (reused.length < cpus.reusable.length) continue;
    const free = intersectCpus(cpus.free, inNodes);
    if (reused.length + free.length >= count) possible.push(nodes);
  }
  const isPreferred = (nodes: NumaNodes) =>
    nodes.length === fewest ||
    (options.has("align-by-socket") && isSocketAligned(topology, nodes, fewest));
  return possible.map((nodes) => ({ nodes, preferred: isPreferred(nodes) }));
}

/** Whether the nodes are on no more sockets than the fewest nodes would be. */
function isSocketAligned(
  { places, numaNodeCount, socketCount }: CpuTopology,
  nodes: NumaNodes,
  fewest: number,
): boolean {
  const perSocket = Math.floor(numaNodeCount / socketCount);
  if (perSocket === 0) return false;
  const sockets = partsOf(placesOf(places, cpusIn(places, "numaNode", nodes)), "socket");
  return sockets.length === Math.ceil(fewest / perSocket);
}
