import type {
  ContainerStats as RuntimeContainerStats,
  PsiStats as RuntimePsiStats,
  UInt64Value,
} from "../../model/generated/cri.ts";
import type { ContainerStats, PsiData, PsiStats } from "../../model/stats-summary.ts";

/** What the runtime says of a container's CPU, memory and swap; zeros where it is silent. */
export function statsOfRuntime(
  stats: RuntimeContainerStats,
  nowMs: number,
  withIo: boolean,
): Pick<ContainerStats, "cpu" | "memory" | "io" | "swap"> {
  const { cpu, memory, swap, io } = stats;
  return {
    cpu: {
      timeMs: timeOf(cpu?.timestamp, nowMs),
      usageNanoCores: amountOf(cpu?.usageNanoCores) ?? (cpu === undefined ? 0 : undefined),
      usageCoreNanoSeconds: amountOf(cpu?.usageCoreNanoSeconds) ?? 0,
      psi: psiOf(cpu?.psi),
    },
    memory: {
      timeMs: timeOf(memory?.timestamp, nowMs),
      availableBytes: amountOf(memory?.availableBytes),
      usageBytes: amountOf(memory?.usageBytes) ?? 0,
      workingSetBytes: amountOf(memory?.workingSetBytes) ?? 0,
      rssBytes: amountOf(memory?.rssBytes) ?? 0,
      pageFaults: amountOf(memory?.pageFaults),
      majorPageFaults: amountOf(memory?.majorPageFaults),
      psi: psiOf(memory?.psi),
    },
    ...(withIo ? { io: { timeMs: timeOf(io?.timestamp, nowMs), psi: psiOf(io?.psi) } } : {}),
    swap: {
      timeMs: timeOf(swap?.timestamp, nowMs),
      swapAvailableBytes:
        amountOf(swap?.swapAvailableBytes) ?? (swap === undefined ? 0 : undefined),
      swapUsageBytes: amountOf(swap?.swapUsageBytes) ?? (swap === undefined ? 0 : undefined),
    },
  };
}

/** Nanoseconds since 1970 as milliseconds. */
export function timeOf(timestamp: bigint | undefined, nowMs: number): number {
  return timestamp === undefined ? nowMs : Number(timestamp / 1000n) / 1000;
}

export function amountOf(value: UInt64Value | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.value ?? 0n);
}

function psiOf(stats: RuntimePsiStats | undefined): PsiStats | undefined {
  return stats === undefined ? undefined : { full: psiData(stats.Full), some: psiData(stats.Some) };
}

function psiData(data: RuntimePsiStats["Full"]): PsiData {
  return {
    total: Number(data?.Total ?? 0n),
    avg10: data?.Avg10 ?? 0,
    avg60: data?.Avg60 ?? 0,
    avg300: data?.Avg300 ?? 0,
  };
}
