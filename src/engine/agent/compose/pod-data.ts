import type { MemoryReserve } from "../../../core/resource/cgroup-resources.ts";
import { podsRootResources } from "../../../core/resource/node-cgroups.ts";
import { amountOf, resourceList } from "../../../core/resource/resource-list.ts";
import { quantityValue } from "../../../model/quantity.ts";
import { PodRemains } from "../../pods/pod-remains.ts";
import type { PodStage } from "../../pods/pod-stage.ts";
import { createPodStages } from "../../pods/pod-stages.ts";
import type { PodObjects } from "../../pods/stages/objects-stage.ts";
import { NodePodCgroups, type PodCgroupSettings } from "../../resources/pod-cgroups.ts";
import { VolumeManager } from "../../volumes/volume-manager.ts";
import type { AgentParts } from "../agent-parts.ts";
import type { AgentSettings } from "../agent-ports.ts";

export function composeCgroups(parts: AgentParts): NodePodCgroups {
  const { cgroups, clock, metrics } = parts.ports;
  return new NodePodCgroups({
    cgroups,
    settings: cgroupSettings(parts.settings),
    pods: {
      grantedPods: () => parts.active.list().map((pod) => parts.allocations.allocatedPod(pod)),
    },
    lifetime: parts.signal,
    clock,
    metrics,
  });
}

function cgroupSettings(settings: AgentSettings): PodCgroupSettings {
  const { cgroupDriver, cgroupRoot, nodeCgroups, runtimeSettings, node } = settings;
  const { perQos, podPidsLimit, maxPids, reservations } = nodeCgroups;
  const { cpuCfsQuota, cpuCfsPeriodUs } = runtimeSettings;
  return {
    driver: cgroupDriver,
    root: cgroupRoot,
    cpuQuota: { enforceCpuLimits: cpuCfsQuota, cpuPeriodUs: cpuCfsPeriodUs },
    rootResources: podsRootResources(node.status?.capacity ?? {}, maxPids, reservations),
    perQos,
    podPidsLimit,
    memoryReserve: memoryReserve(settings),
  };
}

function memoryReserve({ nodeCgroups, node }: AgentSettings): MemoryReserve | undefined {
  const { qosMemoryPercent: percent } = nodeCgroups;
  if (percent === undefined) return undefined;
  const memory = amountOf(resourceList(node.status?.allocatable), "memory");
  return { percent, allocatableBytes: quantityValue(memory) };
}

export function composeVolumes(parts: AgentParts): VolumeManager {
  const { files, payloadFiles, foreignFiles, mounts, log } = parts.ports;
  const { rootFolder, node } = parts.settings;
  return new VolumeManager({
    table: parts.table,
    rootFolder,
    files,
    payloadFiles,
    foreignFiles,
    mounts,
    objects: parts.cluster?.objects ?? parts.localObjects,
    tokens: parts.cluster?.tokens,
    allocatable: () => node.status?.allocatable ?? {},
    events: parts.memory.events,
    metrics: parts.ports.metrics,
    clock: parts.ports.clock,
    log,
    lifetime: parts.signal,
  });
}

/** Objects that lie beside the pods are there at once. */
const noObjects: PodObjects = { prepare: () => Promise.resolve(), release: () => undefined };

export function composeStages(parts: AgentParts): readonly PodStage[] {
  const { files, foreignFiles } = parts.ports;
  const { rootFolder, runtimeSettings } = parts.settings;
  const { podLogsRoot } = runtimeSettings;
  const { table, cgroups, volumes, prober } = parts;
  const { events } = parts.memory;
  const { actuated } = parts.allocations;
  return createPodStages({
    objects: parts.cluster ?? noObjects,
    cgroup: { cgroups, actuated, events },
    folders: { table, files, foreignFiles, rootFolder, podLogsRoot, events },
    volumes,
    probes: prober,
  });
}

export function composeRemains(parts: AgentParts): PodRemains {
  const { ports, table, stages, changes, memory, observed, wakeups, executor, signal } = parts;
  return new PodRemains({
    ports,
    table,
    executor,
    stages,
    changes,
    memory,
    observed,
    wakeups,
    lifetime: signal,
  });
}
