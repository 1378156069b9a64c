// What the node used: the recorder's samples of each minute, and what the page itself reads since it was opened.

import type { NodeStats, Summary } from "../../src/model/stats-summary.ts";
import type { HistoryEntry, NodeSample } from "../../src/ports/history.ts";
import type { Sample, Series } from "./samples.ts";

/** Of one moment; what is not known is left out. */
export type Usage = Omit<NodeSample, "kind" | "pressures"> & {
  /** Share of the last ten seconds in which something waited: for processor, memory and disk, 0 to 100. */
  readonly waiting?:
    | Readonly<Record<"processor" | "memory" | "disk", number | undefined>>
    | undefined;
};

export function usageOf({ node }: Summary, pods: number): Usage | undefined {
  const atMs = node.cpu?.timeMs ?? node.memory?.timeMs;
  if (atMs === undefined) return undefined;
  const { usageNanoCores } = node.cpu ?? {};
  return {
    atMs,
    cpuCores: usageNanoCores === undefined ? undefined : usageNanoCores / 1e9,
    memoryBytes: node.memory?.workingSetBytes,
    memoryAvailableBytes: node.memory?.availableBytes,
    diskUsedBytes: node.fs?.usedBytes,
    diskCapacityBytes: node.fs?.capacityBytes,
    pods,
    waiting: waitingOf(node),
  };
}

function waitingOf({ cpu, memory, io }: NodeStats): Usage["waiting"] {
  return {
    processor: cpu?.psi?.some.avg10,
    memory: memory?.psi?.some.avg10,
    disk: io?.psi?.some.avg10,
  };
}

/** Both, in the order of time, each moment once. */
export function mergeUsage(
  recorded: readonly HistoryEntry[],
  live: readonly Usage[],
): readonly Usage[] {
  const samples = recorded.filter((entry) => entry.kind === "node");
  return [...samples, ...live].toSorted((a, b) => a.atMs - b.atMs);
}

/** What `read` finds in each. */
export function seriesOf(
  name: string,
  usage: readonly Usage[],
  read: (one: Usage) => number | undefined,
): Series {
  const samples = usage.flatMap((one): Sample[] => {
    const value = read(one);
    return value === undefined ? [] : [{ atMs: one.atMs, value }];
  });
  return { name, samples };
}
