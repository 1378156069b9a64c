import type { HugePages } from "./machine-info.ts";

/** How the CPUs and the memory of the machine are arranged. */
export interface MachineTopology {
  /** Online CPUs: hardware threads, not cores. */
  readonly cpuCount: number;
  readonly socketCount: number;
  readonly numaNodes: readonly NumaNode[];
}

export interface NumaNode {
  readonly id: number;
  readonly memoryBytes: bigint;
  readonly hugePages: readonly HugePages[];
  readonly cores: readonly CpuCore[];
  /** To each node by its number; absent where the kernel does not report them. */
  readonly distances?: readonly number[];
}

export interface CpuCore {
  readonly socket: number;
  readonly cpus: readonly number[];
  /** The caches of the last level that its CPUs share with other cores. */
  readonly uncoreCaches: readonly number[];
}
