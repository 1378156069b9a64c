import type { CpuPolicy } from "../../core/devices/cpu/cpu-policy.ts";
import type { MemoryPolicy } from "../../core/devices/memory/memory-policy.ts";
import type { TopologyPolicy } from "../../core/devices/topology/topology-policy.ts";

/** What feature gates change. */
export interface ManagerGates {
  /** Containers with CPUs of their own are held to their limit all the same. */
  readonly keepsQuota: boolean;
  /** Statuses have the health of devices. */
  readonly reportsHealth: boolean;
  /** The pod resources API lists pods that have ended, too. */
  readonly listsEndedPods: boolean;
}

/** How CPUs and memory are handed out on this machine. */
export interface ManagerSettings {
  readonly cpu: CpuPolicy;
  readonly memory: MemoryPolicy;
  readonly topology: TopologyPolicy;
  /** How often the CPUs of running containers are compared with those that they should have. */
  readonly cpuReconcileMs: number;
  readonly gates: ManagerGates;
}
