/**
 * What /stats/summary reports of the node and its pods. Amounts are plain numbers: every one of them stays far below
 * 2^53. Times are milliseconds since 1970, finer than the seconds that the wire shows; `encodeSummary` writes the wire's form.
 */
export interface Summary {
  readonly node: NodeStats;
  readonly pods: readonly PodStats[];
}

export interface NodeStats {
  readonly nodeName: string;
  readonly systemContainers?: readonly ContainerStats[] | undefined;
  readonly startTimeMs: number;
  readonly cpu?: CpuStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly io?: IoStats | undefined;
  readonly network?: NetworkStats | undefined;
  readonly fs?: FsStats | undefined;
  readonly runtime?: RuntimeStats | undefined;
  readonly rlimit?: RlimitStats | undefined;
  readonly swap?: SwapStats | undefined;
}

/** The names of the system containers; pods and allocatable memory are judged by the last. */
export const systemContainerName = {
  kubelet: "kubelet",
  runtime: "runtime",
  misc: "misc",
  pods: "pods",
} as const;

export interface PodStats {
  readonly podRef: PodStatsReference;
  readonly startTimeMs: number;
  readonly containers: readonly ContainerStats[];
  readonly cpu?: CpuStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly io?: IoStats | undefined;
  readonly network?: NetworkStats | undefined;
  readonly volumeStats?: readonly VolumeStats[] | undefined;
  /** What the containers' layers and logs, the emptyDir volumes and the pod's own files take together. */
  readonly ephemeralStorage?: FsStats | undefined;
  readonly processStats?: ProcessStats | undefined;
  readonly swap?: SwapStats | undefined;
}

interface PodStatsReference {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

export interface ContainerStats {
  readonly name: string;
  readonly startTimeMs: number;
  readonly cpu?: CpuStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly io?: IoStats | undefined;
  readonly rootfs?: FsStats | undefined;
  readonly logs?: FsStats | undefined;
  readonly swap?: SwapStats | undefined;
}

export interface CpuStats {
  readonly timeMs: number;
  readonly usageNanoCores?: number | undefined;
  readonly usageCoreNanoSeconds?: number | undefined;
  readonly psi?: PsiStats | undefined;
}

export interface MemoryStats {
  readonly timeMs: number;
  readonly availableBytes?: number | undefined;
  readonly usageBytes?: number | undefined;
  readonly workingSetBytes?: number | undefined;
  readonly rssBytes?: number | undefined;
  readonly pageFaults?: number | undefined;
  readonly majorPageFaults?: number | undefined;
  readonly psi?: PsiStats | undefined;
}

export interface IoStats {
  readonly timeMs: number;
  readonly psi?: PsiStats | undefined;
}

export interface PsiStats {
  readonly full: PsiData;
  readonly some: PsiData;
}

export interface PsiData {
  readonly total: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface SwapStats {
  readonly timeMs: number;
  readonly swapAvailableBytes?: number | undefined;
  readonly swapUsageBytes?: number | undefined;
}

export interface NetworkStats extends Partial<InterfaceStats> {
  readonly timeMs: number;
  readonly interfaces?: readonly InterfaceStats[] | undefined;
}

export interface InterfaceStats {
  readonly name: string;
  readonly rxBytes?: number | undefined;
  readonly rxErrors?: number | undefined;
  readonly txBytes?: number | undefined;
  readonly txErrors?: number | undefined;
}

export interface FsStats {
  readonly timeMs: number;
  readonly availableBytes?: number | undefined;
  readonly capacityBytes?: number | undefined;
  readonly usedBytes?: number | undefined;
  readonly inodesFree?: number | undefined;
  readonly inodes?: number | undefined;
  readonly inodesUsed?: number | undefined;
}

export interface VolumeStats extends FsStats {
  readonly name: string;
  readonly pvcRef?: { readonly name: string; readonly namespace: string } | undefined;
  readonly volumeHealthStats?: { readonly abnormal: boolean } | undefined;
}

interface RuntimeStats {
  readonly imageFs?: FsStats | undefined;
  readonly containerFs?: FsStats | undefined;
}

export interface RlimitStats {
  readonly timeMs: number;
  readonly maxPid?: number | undefined;
  readonly runningProcesses?: number | undefined;
}

interface ProcessStats {
  readonly processCount?: number | undefined;
}
