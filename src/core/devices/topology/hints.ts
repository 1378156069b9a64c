/** The numbers of NUMA nodes, ascending and each once. */
export type NumaNodes = readonly number[];

/** NUMA nodes from which a container could get what it asks for. */
export interface TopologyHint {
  /** undefined: any node will do. */
  readonly nodes: NumaNodes | undefined;
  /** Whether no smaller choice of nodes could ever do. */
  readonly preferred: boolean;
}

/** Hints by resource; undefined means no preference, an empty list cannot be satisfied. Without a map there is no preference at all. */
export type ResourceHints = ReadonlyMap<string, readonly TopologyHint[] | undefined>;

export const noAffinity: TopologyHint = { nodes: undefined, preferred: false };

/** All choices of one or more nodes: fewer nodes first, then in the order of the list. */
export function* numaNodeChoices(nodes: NumaNodes): Generator<NumaNodes> {
  for (let size = 1; size <= nodes.length; size++) yield* choices(nodes, size);
}

/** All choices of `size` items, in the order of the list. */
export function* choices<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  if (size === 0) {
    yield [];
    return;
  }
  for (const [index, item] of items.entries()) {
    for (const rest of choices(items.slice(index + 1), size - 1)) yield [item, ...rest];
  }
}

/** Orders by the number of nodes; of as many, the one whose highest node that the other lacks is lower comes first. */
export function compareNarrowness(a: NumaNodes, b: NumaNodes): number {
  return a.length - b.length || compareNodes(a, b);
}

/** As the numbers that have a bit for each node compare. */
export function compareNodes(a: NumaNodes, b: NumaNodes): number {
  for (let back = 1; back <= Math.max(a.length, b.length); back++) {
    const difference = (a.at(-back) ?? -1) - (b.at(-back) ?? -1);
    if (difference !== 0) return difference;
  }
  return 0;
}
