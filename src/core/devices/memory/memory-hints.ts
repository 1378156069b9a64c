import {
  compareNarrowness,
  type NumaNodes,
  numaNodeChoices,
  type ResourceHints,
  type TopologyHint,
} from "../topology/hints.ts";
import { isSameGroup, sumOf } from "./machine-memory.ts";
import type { MemoryRequests } from "./memory-requests.ts";
import type { MachineMemory, MemoryBlock } from "./memory-state.ts";

/** A hint that names nodes. */
export interface NodesHint extends TopologyHint {
  readonly nodes: NumaNodes;
}

/** What the pod's init containers leave to the next ones on these nodes, in bytes. */
export type ReusableMemory = (nodes: NumaNodes, resource: string) => bigint;

/** The choices of nodes with enough memory. Those that need the fewest nodes are preferred. */
export function memoryNodeHints(
  machine: MachineMemory,
  requests: MemoryRequests,
  reusable: ReusableMemory,
): readonly NodesHint[] {
  const allNodes = [...machine.keys()].toSorted((a, b) => a - b);
  const wanted = [...requests];
  let fewest = allNodes.length;
  const possible: NumaNodes[] = [];
  for (const nodes of numaNodeChoices(allNodes)) {
    const couldFit = wanted.every(
      ([resource, bytes]) => sumOf(machine, nodes, resource, "allocatable") >= bytes,
    );
    if (!couldFit) continue;
    fewest = Math.min(fewest, nodes.length);
    if (isAloneInGroup(machine, nodes) || mixesGroups(machine, nodes)) continue;
    const fits = wanted.every(
      ([resource, bytes]) =>
        sumOf(machine, nodes, resource, "free") + reusable(nodes, resource) >= bytes,
    );
    if (fits) possible.push(nodes);
  }
  return possible.map((nodes) => ({ nodes, preferred: nodes.length === fewest }));
}

/** Whether a single node is used together with others already. */
function isAloneInGroup(machine: MachineMemory, nodes: NumaNodes): boolean {
  const [only = -1] = nodes;
  return nodes.length === 1 && (machine.get(only)?.group.length ?? 0) > 1;
}

/** Whether several nodes are not to be used together because one of them is used alone, or with others. */
export function mixesGroups(machine: MachineMemory, nodes: NumaNodes): boolean {
  if (nodes.length === 1) return false;
  return nodes.some((node) => {
    const memory = machine.get(node);
    if (memory === undefined || memory.assignmentCount === 0) return false;
    return memory.group.length === 1 || !isSameGroup(memory.group, nodes);
  });
}

/** The same nodes for every resource; without any there is no preference. */
export function hintsForAll(
  requests: MemoryRequests,
  hints: readonly TopologyHint[],
): ResourceHints {
  if (hints.length === 0) return new Map();
  return new Map(Array.from(requests.keys(), (resource) => [resource, hints]));
}

/** Where the memory is that was given before; undefined where it is not what is asked for now. */
export function assignedMemoryHints(
  blocks: readonly MemoryBlock[],
  requests: MemoryRequests,
): ResourceHints | undefined {
  if (blocks.length !== requests.size) return undefined;
  if (blocks.some(({ resource, sizeBytes }) => requests.get(resource) !== sizeBytes)) {
    return undefined;
  }
  return new Map(
    Array.from(requests.keys(), (resource) => [
      resource,
      blocks
        .filter((block) => block.resource === resource)
        .map(({ nodes }) => ({ nodes, preferred: true })),
    ]),
  );
}

/** Preferred before others, then with fewer nodes. */
export function bestHint(hints: readonly NodesHint[]): NodesHint | undefined {
  let best: NodesHint | undefined;
  for (const hint of hints) {
    const isBetter =
      best === undefined ||
      (hint.preferred === best.preferred
        ? compareNarrowness(hint.nodes, best.nodes) < 0
        : hint.preferred);
    if (isBetter) best = hint;
  }
  return best;
}
