import type { PodResources } from "../../core/allocation/pod-allocation.ts";
import type { ResizeStep } from "../../core/pod/step.ts";
import type { CgroupResources } from "../../model/cgroup.ts";
import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodConfigs } from "./pod-configs.ts";

/** The cgroup of a pod, as a resize reads and changes it. */
export interface PodCgroupControl {
  /** What the cgroup should be set to. */
  wanted(pod: Pod): CgroupResources;
  read(pod: Pod): CgroupResources;
  update(pod: Pod, resources: CgroupResources): Promise<void>;
  memoryUsageBytes(pod: Pod): bigint;
}

/** What was applied to pods, kept over restarts. */
export interface ActuatedRecord {
  get(uid: PodUid): PodResources | undefined;
  setContainer(uid: PodUid, name: string, resources: ResourceRequirements): void;
  setPod(uid: PodUid, resources: ResourceRequirements | undefined): void;
  /** Resolves when all that was set is on disk. */
  flush(): Promise<void>;
}

export interface ResizeDeps {
  readonly runtime: ContainerRuntime;
  readonly configs: PodConfigs;
  readonly cgroups: PodCgroupControl;
  readonly actuated: ActuatedRecord;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  /** A resize that began goes on though the pod's sync is cut short: it never stops halfway for that. */
  readonly lifetime: AbortSignal;
}

export interface ResizeRequest {
  readonly pod: Pod;
  readonly sandboxId: string;
  readonly step: ResizeStep;
}
