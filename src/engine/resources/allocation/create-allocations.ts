import type { RuntimeSettings } from "../../../core/cri/runtime-settings.ts";
import { containerSwapBehavior } from "../../../core/cri/swap-limit.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { HostFiles } from "../../../ports/host-files.ts";
import type { Log } from "../../../ports/log.ts";
import type { PodTable } from "../../pods/pod-table.ts";
import { AllocationManager, type AllocationManagerDeps } from "./allocation-manager.ts";
import { PodAllocations } from "./pod-allocations.ts";
import { ResizeStatuses } from "./resize-statuses.ts";
import { ResourceRecords } from "./resource-records.ts";

/** What is known of the resources of pods. */
export interface PodResourceRecords {
  /** What pods were granted. */
  readonly allocated: ResourceRecords;
  /** What was applied to pods. */
  readonly actuated: ResourceRecords;
  readonly resizes: ResizeStatuses;
}

interface RecordPorts {
  readonly files: HostFiles;
  readonly log: Log;
  readonly clock: Clock;
}

/** The records lie where a kubelet has them too. */
export function createResourceRecords(
  table: PodTable,
  { files, log, clock }: RecordPorts,
  rootFolder: string,
): PodResourceRecords {
  const shared = { files, log };
  return {
    allocated: new ResourceRecords({
      ...shared,
      slice: table.writer("allocated"),
      path: `${rootFolder}/allocated_pods_state`,
    }),
    actuated: new ResourceRecords({
      ...shared,
      slice: table.writer("actuated"),
      path: `${rootFolder}/actuated_pods_state`,
      isBrief: true,
    }),
    resizes: new ResizeStatuses(table, clock),
  };
}

export interface AllocationsDeps
  extends Omit<AllocationManagerDeps, "record" | "statuses" | "resizeFacts"> {
  readonly records: PodResourceRecords;
  readonly clock: Clock;
  readonly runtimeSettings: Pick<RuntimeSettings, "swap" | "cgroupVersion">;
}

export function createAllocations(deps: AllocationsDeps): PodAllocations {
  const { records, clock, runtimeSettings, faults, metrics } = deps;
  const manager = new AllocationManager({
    ...deps,
    record: records.allocated,
    statuses: records.resizes,
    resizeFacts: {
      // No pod has CPUs or memory of its own on this node.
      cpuManagerPolicy: "none",
      memoryManagerPolicy: "None",
      mayUseSwap: (pod, container) =>
        containerSwapBehavior(pod, container, runtimeSettings) !== "NoSwap",
    },
  });
  return new PodAllocations({ ...records, manager, clock, faults, metrics });
}
