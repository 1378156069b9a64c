import type { CgroupUsage } from "../../model/cgroup-usage.ts";
import type {
  ContainerStats,
  CpuStats,
  IoStats,
  MemoryStats,
  PsiStats,
  SwapStats,
} from "../../model/stats-summary.ts";

/** A reading of a cgroup and how busy it was since an earlier one. */
export interface CgroupSample {
  readonly usage: CgroupUsage;
  /** Zero until there is an earlier reading. */
  readonly usageNanoCores: number;
}

const nothing = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
/** Readers expect the fields even where the kernel reports no pressure. */
const noPressure: PsiStats = { full: nothing, some: nothing };

/** The cores in use between two readings, in billionths. */
export function nanoCoresBetween(earlier: CgroupUsage | undefined, later: CgroupUsage): number {
  const before = earlier?.cpu?.usageCoreNanoSeconds;
  const after = later.cpu?.usageCoreNanoSeconds;
  if (earlier === undefined || before === undefined || after === undefined) return 0;
  const elapsedMs = later.timeMs - earlier.timeMs;
  if (elapsedMs <= 0 || after < before) return 0;
  return Math.trunc(((after - before) / elapsedMs) * 1000);
}

/** What the sample says of CPU, memory and swap; input and output beside them unless left out. */
export function statsOfSample(
  sample: CgroupSample,
  withIo: boolean,
): Pick<ContainerStats, "cpu" | "memory" | "io" | "swap"> {
  const { cpu, memory, io, swap } = allStatsOfSample(sample);
  return withIo ? { cpu, memory, io, swap } : { cpu, memory, swap };
}

function allStatsOfSample({ usage, usageNanoCores }: CgroupSample) {
  const { timeMs, memory } = usage;
  const cpu: CpuStats = {
    timeMs,
    usageNanoCores,
    usageCoreNanoSeconds: usage.cpu?.usageCoreNanoSeconds ?? 0,
    psi: usage.cpu?.psi ?? noPressure,
  };
  const io: IoStats = { timeMs, psi: usage.ioPsi ?? noPressure };
  if (memory === undefined) {
    return { cpu, io, memory: { timeMs, workingSetBytes: 0 }, swap: undefined };
  }
  const memoryStats: MemoryStats = {
    timeMs,
    availableBytes: leftOf(memory.limitBytes, memory.workingSetBytes),
    usageBytes: memory.usageBytes,
    workingSetBytes: memory.workingSetBytes,
    rssBytes: memory.rssBytes,
    pageFaults: memory.pageFaults,
    majorPageFaults: memory.majorPageFaults,
    psi: memory.psi ?? noPressure,
  };
  const swap: SwapStats = {
    timeMs,
    swapAvailableBytes: leftOf(memory.swapLimitBytes, memory.swapBytes),
    swapUsageBytes: memory.swapBytes,
  };
  return { cpu, memory: memoryStats, io, swap };
}

/** Without a limit nothing can be said to be left. */
function leftOf(limitBytes: number | undefined, usedBytes: number): number | undefined {
  return limitBytes === undefined ? undefined : Math.max(limitBytes - usedBytes, 0);
}
