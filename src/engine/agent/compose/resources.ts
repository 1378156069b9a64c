// What looks after the node's memory and disks.
import { reservedCgroups } from "../../../core/resource/node-cgroups.ts";
import { ImageCollector } from "../../images/image-collector.ts";
import { ContainerCollector } from "../../node/container-collector.ts";
import { GarbageCollection } from "../../node/garbage-collection.ts";
import { ShutdownManager } from "../../node/shutdown-manager.ts";
import { EvictionManager } from "../../resources/eviction/eviction-manager.ts";
import { ImageFileSystems } from "../../resources/eviction/image-fs.ts";
import { MemoryWatch } from "../../resources/eviction/memory-watch.ts";
import { NodeCgroups } from "../../resources/node-cgroups.ts";
import { CgroupSamples } from "../../resources/stats/cgroup-samples.ts";
import { NodeStatsProvider } from "../../resources/stats/stats-provider.ts";
import { VolumeUsage } from "../../volumes/volume-usage.ts";
import type { AgentParts } from "../agent-parts.ts";

const settlePollMs = 100;
const keptDeadContainers = { minAgeMs: 0, maxPerContainer: 1, maxContainers: -1 };

export function composeVolumeUsage(parts: AgentParts): VolumeUsage {
  const { clock, log, metrics, foreignFiles } = parts.ports;
  return new VolumeUsage({
    foreignFiles,
    clock,
    log,
    metrics,
    table: parts.table,
    periodMs: parts.settings.volumeStatsMs,
  });
}

export function composeStats(parts: AgentParts): NodeStatsProvider {
  const { runtime, cgroups, cgroupStats, hostUsage, clock } = parts.ports;
  const { nodeName, rootFolder, runtimeSettings, systemCgroups } = parts.settings;
  const { podLogsRoot } = runtimeSettings;
  return new NodeStatsProvider({
    runtime,
    cgroups,
    samples: new CgroupSamples(cgroupStats, clock),
    host: hostUsage,
    clock,
    faults: parts.faults,
    podCgroups: parts.cgroups,
    volumeUsage: parts.volumeUsage,
    node: { nodeName, rootFolder, podLogsRoot, systemCgroups, startedAtMs: clock.nowMs() },
  });
}

export function composeImageCollector(parts: AgentParts): ImageCollector {
  const { runtime, hostUsage, metrics, clock, log } = parts.ports;
  return new ImageCollector({
    runtime,
    disks: new ImageFileSystems(runtime, hostUsage, parts.settings.rootFolder),
    observed: parts.observed,
    policy: parts.settings.eviction.images,
    nodeEvents: parts.cluster?.events,
    metrics,
    clock,
    log,
  });
}

export function composeContainerCollector(parts: AgentParts): ContainerCollector {
  const { runtime, files, foreignFiles, clock, log } = parts.ports;
  return new ContainerCollector({
    runtime,
    files,
    foreignFiles,
    clock,
    log,
    policy: parts.settings.deadContainers ?? keptDeadContainers,
    podLogsRoot: parts.settings.runtimeSettings.podLogsRoot,
    sources: parts.readiness,
    workers: parts.workers,
    observed: parts.observed,
    nodeEvents: parts.cluster?.events,
  });
}

export function composeGarbageCollection(parts: AgentParts): GarbageCollection {
  return new GarbageCollection({
    containers: parts.containerCollector,
    images: parts.imageCollector,
    files: parts.ports.files,
    rootFolder: parts.settings.rootFolder,
    sources: parts.readiness,
    table: parts.table,
    workers: parts.workers,
    wakeups: parts.wakeups,
  });
}

export function composeEviction(parts: AgentParts): EvictionManager {
  const { runtime, hostUsage, memoryGauge, metrics, clock, log } = parts.ports;
  const { eviction, rootFolder } = parts.settings;
  const { events } = parts.memory;
  const podsCgroup = parts.cgroups.rootPath;
  return new EvictionManager(
    {
      stats: parts.stats,
      disks: new ImageFileSystems(runtime, hostUsage, rootFolder),
      // What pods were granted counts, not what they ask for now.
      activePods: () => parts.active.list().map((pod) => parts.allocations.allocatedPod(pod)),
      workers: parts.workers,
      garbage: parts.garbage,
      memoryWatch: new MemoryWatch({ gauge: memoryGauge, clock, podsCgroup }),
      events,
      nodeEvents: parts.cluster?.events,
      metrics,
      clock,
      log,
    },
    eviction.thresholds,
    eviction.policy,
  );
}

export function composeNodeCgroups(parts: AgentParts): NodeCgroups {
  const { cgroups, cgroupsAt, metrics, clock, log } = parts.ports;
  return new NodeCgroups({
    version: cgroups.version,
    metrics,
    pods: parts.cgroups,
    reserved: reservedCgroups(parts.settings.nodeCgroups.reservations),
    cgroupsAt,
    nodeEvents: parts.cluster?.events,
    clock,
    log,
  });
}

/** Undefined when the machine does not wait for pods. */
export function composeShutdown(parts: AgentParts): ShutdownManager | undefined {
  const { shutdown, files, metrics, clock, log } = parts.ports;
  const { shutdownPeriods, rootFolder } = parts.settings;
  if (shutdownPeriods.length === 0) return undefined;
  return new ShutdownManager({
    service: shutdown,
    periods: shutdownPeriods,
    activePods: () => parts.active.list(),
    workers: parts.workers,
    settling: {
      volumesUnmounted: async (pods, signal) => {
        while (pods.some((pod) => parts.volumes.mountedVolumes(pod.metadata.uid).size > 0)) {
          await clock.sleep(settlePollMs, signal);
        }
      },
      statusesReported: async (signal) => {
        await parts.checkpoints.flush();
        while (parts.cluster?.hasReportedAll === false) await clock.sleep(settlePollMs, signal);
      },
    },
    wakeups: parts.wakeups,
    nodeEvents: parts.cluster?.events,
    files,
    rootFolder,
    metrics,
    clock,
    log,
  });
}
