import {
  compareNarrowness,
  compareNodes,
  type NumaNodes,
  type ResourceHints,
  type TopologyHint,
} from "./hints.ts";

export interface MachineNodes {
  readonly nodes: NumaNodes;
  /** From each node to each by its number; given where the closest nodes are preferred. */
  readonly distances?: ReadonlyMap<number, readonly number[]>;
}

/** The hints of one resource. */
type Hints = readonly TopologyHint[];

/** What each resource of each provider asks for. A provider without preference counts as one resource for which any node will do. */
export function hintsByResource(providers: readonly (ResourceHints | undefined)[]): Hints[] {
  return providers.flatMap((hints): Hints[] =>
    hints === undefined || hints.size === 0
      ? [[{ nodes: undefined, preferred: true }]]
      : Array.from(hints.values(), resourceHints),
  );
}

function resourceHints(hints: Hints | undefined): Hints {
  if (hints === undefined) return [{ nodes: undefined, preferred: true }];
  return hints.length === 0 ? [{ nodes: undefined, preferred: false }] : hints;
}

/**
 * The best of all combinations that take one hint of each resource: the nodes that its hints share, preferred when all of them are and name the same nodes.
 * Combinations that came to the same are followed once, so the time does not grow with their number.
 */
export function mergeHints(machine: MachineNodes, resources: readonly Hints[]): TopologyHint {
  let merged = new Map<string, TopologyHint>([["", { nodes: undefined, preferred: true }]]);
  for (const hints of resources) {
    const next = new Map<string, TopologyHint>();
    for (const before of merged.values()) {
      for (const hint of hints) {
        const both = combine(before, hint);
        next.set(`${both.nodes?.join() ?? "any"} ${both.preferred}`, both);
      }
    }
    merged = next;
  }
  const wantedCount = widestNeed(resources);
  let best: TopologyHint | undefined;
  for (const { nodes, preferred } of merged.values()) {
    const present = nodes?.filter((node) => machine.nodes.includes(node)) ?? machine.nodes;
    const candidate = { nodes: present, preferred };
    if (present.length > 0 && isBetter(candidate, best, { machine, wantedCount })) best = candidate;
  }
  return best ?? { nodes: machine.nodes, preferred: false };
}

function combine(a: TopologyHint, b: TopologyHint): TopologyHint {
  const preferred = a.preferred && b.preferred;
  if (a.nodes === undefined || b.nodes === undefined) {
    return { nodes: a.nodes ?? b.nodes, preferred };
  }
  const others = b.nodes;
  return {
    nodes: a.nodes.filter((node) => others.includes(node)),
    preferred: preferred && compareNodes(a.nodes, b.nodes) === 0,
  };
}

/** How many nodes the resource needs that needs the most. */
function widestNeed(resources: readonly Hints[]): number {
  const needs = resources.map((hints) =>
    Math.min(...hints.flatMap(({ nodes }) => (nodes === undefined ? [] : [nodes.length]))),
  );
  return Math.max(0, ...needs.filter(Number.isFinite));
}

interface KnownHint extends TopologyHint {
  readonly nodes: NumaNodes;
}

interface Ranking {
  readonly machine: MachineNodes;
  readonly wantedCount: number;
}

function isBetter(
  candidate: KnownHint,
  best: TopologyHint | undefined,
  { machine, wantedCount }: Ranking,
): boolean {
  if (best?.nodes === undefined) return true;
  if (candidate.preferred !== best.preferred) return candidate.preferred;
  if (!candidate.preferred) {
    const difference =
      distanceFromNeed(candidate.nodes, wantedCount) - distanceFromNeed(best.nodes, wantedCount);
    if (difference !== 0) return difference < 0;
  }
  return compareFit(machine, candidate.nodes, best.nodes) < 0;
}

/** Without a preferred choice, as many nodes as are needed are best, then fewer, as close to it as can be, then more. */
function distanceFromNeed(nodes: NumaNodes, wantedCount: number): number {
  const missing = wantedCount - nodes.length;
  return missing >= 0 ? missing : Number.MAX_SAFE_INTEGER;
}

function compareFit({ distances }: MachineNodes, a: NumaNodes, b: NumaNodes): number {
  if (distances !== undefined && a.length === b.length) {
    const difference = averageDistance(distances, a) - averageDistance(distances, b);
    if (difference !== 0) return difference;
  }
  return compareNarrowness(a, b);
}

function averageDistance(
  distances: ReadonlyMap<number, readonly number[]>,
  nodes: NumaNodes,
): number {
  const all = nodes.flatMap((from) => nodes.map((to) => distances.get(from)?.[to] ?? 0));
  return all.reduce((sum, distance) => sum + distance, 0) / all.length;
}
