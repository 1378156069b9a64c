import { type Quantity, type QuantityFormat, wholeQuantity } from "../../model/quantity.ts";
import {
  type FsStats,
  type MemoryStats,
  type NodeStats,
  type Summary,
  systemContainerName,
} from "../../model/stats-summary.ts";
import type { Signal } from "./signal.ts";

interface Observation {
  readonly available: Quantity;
  readonly capacity: Quantity;
  /** Zero when it is not known. */
  readonly timeMs: number;
}

export type Observations = ReadonlyMap<Signal, Observation>;

type Found = readonly (readonly [Signal, Observation])[];

/** What the statistics say of each signal; a signal without both amounts is left out. */
export function observeSignals({ node }: Summary): Observations {
  const pods = node.systemContainers?.find(({ name }) => name === systemContainerName.pods);
  return new Map([
    ...memorySignal("memory.available", node.memory),
    ...memorySignal("allocatableMemory.available", pods?.memory),
    ...fsSignals("nodefs", node.fs),
    ...fsSignals("imagefs", node.runtime?.imageFs),
    ...fsSignals("containerfs", node.runtime?.containerFs),
    ...pidSignal(node),
  ]);
}

function memorySignal(signal: Signal, stats: MemoryStats | undefined): Found {
  const { availableBytes, workingSetBytes, timeMs = 0 } = stats ?? {};
  if (availableBytes === undefined || workingSetBytes === undefined) return [];
  const capacity = availableBytes + workingSetBytes;
  return [[signal, observation({ available: availableBytes, capacity, timeMs }, "BinarySI")]];
}

function fsSignals(fs: "nodefs" | "imagefs" | "containerfs", stats: FsStats | undefined): Found {
  if (stats === undefined) return [];
  const { timeMs } = stats;
  const bytes = pair(stats.availableBytes, stats.capacityBytes);
  const inodes = pair(stats.inodesFree, stats.inodes);
  return [
    ...bytes.map((amounts) => {
      const seen = observation({ ...amounts, timeMs }, "BinarySI");
      return [`${fs}.available`, seen] as const;
    }),
    ...inodes.map((amounts) => {
      const seen = observation({ ...amounts, timeMs }, "DecimalSI");
      return [`${fs}.inodesFree`, seen] as const;
    }),
  ];
}

function pidSignal({ rlimit }: NodeStats): Found {
  const { maxPid, runningProcesses, timeMs = 0 } = rlimit ?? {};
  if (maxPid === undefined || runningProcesses === undefined) return [];
  const available = maxPid - runningProcesses;
  return [["pid.available", observation({ available, capacity: maxPid, timeMs }, "DecimalSI")]];
}

interface Amounts {
  readonly available: number;
  readonly capacity: number;
}

function pair(available: number | undefined, capacity: number | undefined): Amounts[] {
  return available === undefined || capacity === undefined ? [] : [{ available, capacity }];
}

function observation(
  { available, capacity, timeMs }: Amounts & { readonly timeMs: number },
  format: QuantityFormat,
): Observation {
  return {
    available: wholeQuantity(BigInt(available), format),
    capacity: wholeQuantity(BigInt(capacity), format),
    timeMs,
  };
}
