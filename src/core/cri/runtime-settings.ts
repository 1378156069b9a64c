import type { MemoryQos } from "../resource/memory-qos.ts";
import type { SeLinuxNode } from "../storage/selinux-label.ts";
import type { PodUserSettings } from "./user-namespace.ts";

/** What the node's configuration and machine add to every sandbox and container. */
export interface RuntimeSettings {
  readonly podLogsRoot: string;
  /** Where profiles of the type Localhost lie. */
  readonly seccompProfileRoot: string;
  /** Containers without a seccomp profile get the runtime's instead of none. */
  readonly seccompDefault: boolean;
  readonly cgroupVersion: 1 | 2;
  /** Whether CPU limits are enforced. */
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsPeriodUs: number;
  /** Running out of memory kills one process; otherwise the whole container (cgroup v2 only). */
  readonly singleProcessOomKill: boolean;
  readonly memoryCapacityBytes: number;
  readonly swap: SwapSettings;
  /** The feature MemoryQoS (cgroup v2 only); undefined = off. */
  readonly memoryQos?: MemoryQos | undefined;
  /** The huge page sizes that the kernel has, as "2MB". */
  readonly hugePageSizes: readonly string[];
  /** Files of this machine that would reveal too much of it to containers, beyond those masked on every machine. */
  readonly extraMaskedPaths: readonly string[];
  /** Undefined = SELinux is not enabled. */
  readonly seLinux: SeLinuxNode | undefined;
  /** What pods in user namespaces get. */
  readonly podUsers: PodUserSettings;
  /** The feature ContainerStopSignals. */
  readonly containerStopSignals: boolean;
}

interface SwapSettings {
  /** Whether the kernel can limit swap per cgroup. */
  readonly controllerAvailable: boolean;
  readonly behavior: "NoSwap" | "LimitedSwap";
  readonly capacityBytes: number;
}
