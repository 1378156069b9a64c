import type { RuntimeSettings } from "../../../core/cri/runtime-settings.ts";
import { containerSwapBehavior } from "../../../core/cri/swap-limit.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { ManagerSettings } from "../../devices/manager-settings.ts";
import type { PodTable } from "../../pods/pod-table.ts";
import {
  AllocationManager,
  type AllocationManagerDeps,
  PodAllocations,
  type PodResourceRecords,
} from "./pod-allocations.ts";
import { ResizeStatuses } from "./resize-statuses.ts";
import { ResourceRecords, type ResourceRecordsDeps } from "./resource-records.ts";

interface RecordDeps extends Pick<ResourceRecordsDeps, "files" | "log"> {
  readonly table: PodTable;
  readonly clock: Clock;
  readonly rootFolder: string;
}

/** The records lie where a kubelet has them too. */
export function createResourceRecords(deps: RecordDeps): PodResourceRecords {
  const { table, rootFolder } = deps;
  return {
    allocated: new ResourceRecords({
      ...deps,
      slice: table.writer("allocated"),
      path: `${rootFolder}/allocated_pods_state`,
    }),
    actuated: new ResourceRecords({
      ...deps,
      slice: table.writer("actuated"),
      path: `${rootFolder}/actuated_pods_state`,
      isBrief: true,
    }),
    resizes: new ResizeStatuses(table, deps.clock),
  };
}

export interface AllocationsDeps
  extends Omit<AllocationManagerDeps, "allocated" | "resizes" | "resizeFacts"> {
  readonly records: PodResourceRecords;
  readonly clock: Clock;
  readonly settings: {
    readonly runtimeSettings: Pick<RuntimeSettings, "swap" | "cgroupVersion">;
    readonly node: { readonly managers: Pick<ManagerSettings, "cpu" | "memory"> };
  };
}

export function createAllocations(deps: AllocationsDeps): PodAllocations {
  const { records, settings } = deps;
  const manager = new AllocationManager({
    ...deps,
    ...records,
    resizeFacts: {
      cpuManagerPolicy: settings.node.managers.cpu.name,
      memoryManagerPolicy: settings.node.managers.memory.name,
      mayUseSwap: (pod, container) =>
        containerSwapBehavior(pod, container, settings.runtimeSettings) !== "NoSwap",
    },
  });
  return new PodAllocations({ ...deps, ...records, manager });
}
