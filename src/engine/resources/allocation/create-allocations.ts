import type { RuntimeSettings } from "../../../core/cri/runtime-settings.ts";
import { containerSwapBehavior } from "../../../core/cri/swap-limit.ts";
import type { AgentPorts, AgentSettings } from "../../agent/agent-ports.ts";
import type { PodTable } from "../../pods/pod-table.ts";
import { AllocationManager, type AllocationManagerDeps } from "./allocation-manager.ts";
import { PodAllocations } from "./pod-allocations.ts";
import { ResizeStatuses } from "./resize-statuses.ts";
import { ResourceRecords } from "./resource-records.ts";

export interface AllocationParts
  extends Pick<AllocationManagerDeps, "room" | "sources" | "wakeups" | "events" | "faults"> {
  readonly ports: Pick<AgentPorts, "files" | "clock" | "log" | "metrics">;
  readonly settings: Pick<AgentSettings, "rootFolder"> & {
    readonly runtimeSettings: Pick<RuntimeSettings, "swap" | "cgroupVersion">;
  };
  readonly table: PodTable;
}

/** The records lie where a kubelet has them too. */
export function createAllocations(parts: AllocationParts): PodAllocations {
  const { ports, settings, table, faults } = parts;
  const { files, clock, log, metrics } = ports;
  const { rootFolder, runtimeSettings } = settings;
  const allocated = new ResourceRecords({
    slice: table.writer("allocated"),
    files,
    log,
    path: `${rootFolder}/allocated_pods_state`,
  });
  const actuated = new ResourceRecords({
    slice: table.writer("actuated"),
    files,
    log,
    path: `${rootFolder}/actuated_pods_state`,
    isBrief: true,
  });
  const resizes = new ResizeStatuses(table, clock);
  const { room, sources, wakeups, events } = parts;
  const manager = new AllocationManager({
    record: allocated,
    statuses: resizes,
    resizeFacts: {
      // No pod has CPUs or memory of its own on this node.
      cpuManagerPolicy: "none",
      memoryManagerPolicy: "None",
      mayUseSwap: (pod, container) =>
        containerSwapBehavior(pod, container, runtimeSettings) !== "NoSwap",
    },
    room,
    table,
    sources,
    wakeups,
    events,
    faults,
    metrics,
  });
  return new PodAllocations({ manager, allocated, actuated, resizes, clock, faults, metrics });
}
