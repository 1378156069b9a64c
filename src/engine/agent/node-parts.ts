import { reservedCgroups } from "../../core/resource/node-cgroups.ts";
import { ImageCollector } from "../images/image-collector.ts";
import { ContainerCollector } from "../node/container-collector.ts";
import { CsiNode } from "../node/csi-node.ts";
import { GarbageCollection } from "../node/garbage-collection.ts";
import { NodeAgent } from "../node/node-agent.ts";
import { NodeStartup } from "../node/node-startup.ts";
import { NodeStatusSource } from "../node/node-status-source.ts";
import { Settling } from "../node/settling.ts";
import { ShutdownManager } from "../node/shutdown-manager.ts";
import { EvictionManager } from "../resources/eviction/eviction-manager.ts";
import { ImageFileSystems } from "../resources/eviction/image-fs.ts";
import { MemoryWatch } from "../resources/eviction/memory-watch.ts";
import { NodeCgroups } from "../resources/node-cgroups.ts";
import { CgroupSamples } from "../resources/stats/cgroup-samples.ts";
import { NodeStatsProvider } from "../resources/stats/stats-provider.ts";
import { VolumeUsage } from "../volumes/volume-usage.ts";
import type { AgentBase } from "./agent-base.ts";
import type { PodParts } from "./pod-parts.ts";

const keptDeadContainers = { minAgeMs: 0, maxPerContainer: 1, maxContainers: -1 };

/** What looks after the node: its statistics, its disks and memory, its cgroups, its end, and its place in the cluster. */
export class NodeParts {
  readonly volumeUsage: VolumeUsage;
  readonly stats: NodeStatsProvider;
  readonly imageCollector: ImageCollector;
  readonly containerCollector: ContainerCollector;
  readonly garbage: GarbageCollection;
  readonly eviction: EvictionManager;
  readonly cgroups: NodeCgroups;
  /** Undefined = the machine does not wait for pods when it goes down. */
  readonly shutdown: ShutdownManager | undefined;
  /** Undefined = the node belongs to no cluster. */
  readonly agent: NodeAgent | undefined;

  constructor(base: AgentBase, pods: PodParts) {
    const { ports, settings, table, states, sources, observed, nodeEvents, wakeups } = base;
    const { runtime, hostUsage, files, foreignFiles, metrics, clock, log } = ports;
    const { rootFolder, eviction, nodeCgroups, runtimeSettings } = settings;
    const { podLogsRoot } = runtimeSettings;
    const periodMs = settings.volumeStatsMs;
    this.volumeUsage = new VolumeUsage({ foreignFiles, clock, log, metrics, table, periodMs });
    this.stats = this.#createStats(base, pods);
    const disks = new ImageFileSystems(runtime, hostUsage, rootFolder);
    const policy = eviction.images;
    const shared = { runtime, observed, nodeEvents, clock, log };
    this.imageCollector = new ImageCollector({ ...shared, disks, policy, metrics });
    this.containerCollector = new ContainerCollector({
      ...shared,
      files,
      foreignFiles,
      settings: { policy: settings.deadContainers ?? keptDeadContainers, podLogsRoot },
      sources,
      states,
    });
    const { imageCollector: images, containerCollector: containers } = this;
    this.garbage = new GarbageCollection({
      containers,
      images,
      files,
      rootFolder,
      sources,
      table,
      states,
      wakeups,
    });
    this.eviction = this.#createEviction(base, pods, disks);
    this.cgroups = new NodeCgroups({
      version: ports.cgroups.version,
      metrics,
      pods: pods.cgroups,
      reserved: reservedCgroups(nodeCgroups.reservations),
      cgroupsAt: ports.cgroupsAt,
      nodeEvents,
      clock,
      log,
    });
    this.shutdown = createShutdown(base, pods);
    this.agent = this.#createAgent(base);
  }

  #createStats({ ports, settings, faults, startedAtMs }: AgentBase, pods: PodParts) {
    const { runtime, cgroups, cgroupStats, hostUsage, clock } = ports;
    const { nodeName, rootFolder, runtimeSettings, systemCgroups } = settings;
    const { podLogsRoot } = runtimeSettings;
    return new NodeStatsProvider({
      runtime,
      cgroups,
      samples: new CgroupSamples(cgroupStats, clock),
      host: hostUsage,
      clock,
      faults,
      podCgroups: pods.cgroups,
      volumeUsage: this.volumeUsage,
      node: { nodeName, rootFolder, podLogsRoot, systemCgroups, startedAtMs },
    });
  }

  #createEviction(base: AgentBase, pods: PodParts, disks: ImageFileSystems): EvictionManager {
    const { ports, states, events, nodeEvents } = base;
    const { memoryGauge: gauge, clock } = ports;
    const { thresholds, policy } = base.settings.eviction;
    const { active, workers, cgroups } = pods;
    const { stats, garbage } = this;
    const memoryWatch = new MemoryWatch({ gauge, clock, podsCgroup: cgroups.rootPath });
    return new EvictionManager(
      {
        stats,
        disks,
        // What pods were granted counts, not what they ask for now.
        pods: active,
        states,
        workers,
        garbage,
        memoryWatch,
        events,
        nodeEvents,
        ports,
      },
      thresholds,
      policy,
    );
  }

  #createAgent({ ports, settings, cluster, health }: AgentBase): NodeAgent | undefined {
    const { clock, random, log, metrics, nodeFacts, hostUsage, runtime, files } = ports;
    const { nodeSettings, rootFolder } = settings;
    const { eviction, shutdown } = this;
    const api = ports.heartbeatApi ?? ports.api;
    if (api === undefined || cluster === undefined) return undefined;
    const { nodeName } = nodeSettings;
    const csiNode = new CsiNode({ api, log, nodeName });
    const source = new NodeStatusSource({
      settings: nodeSettings,
      rootFolder,
      clock,
      facts: nodeFacts,
      usage: hostUsage,
      runtime,
      files,
      health,
      eviction,
      readiness: shutdown === undefined ? [csiNode] : [csiNode, shutdown],
    });
    const startup = new NodeStartup({
      metrics,
      clock,
      events: cluster.events,
      nodeName,
      bootTimeMs: hostUsage.bootTimeMs,
      cgroupVersion: ports.cgroups.version,
    });
    return new NodeAgent({
      api,
      settings: nodeSettings,
      clock,
      random,
      log,
      runtime,
      cluster,
      source,
      csiNode,
      startup,
    });
  }
}

function createShutdown(base: AgentBase, pods: PodParts): ShutdownManager | undefined {
  const { ports, table, memory, cluster, wakeups, nodeEvents } = base;
  const { shutdown, files, clock } = ports;
  const { shutdownPeriods, rootFolder } = base.settings;
  if (shutdownPeriods.length === 0) return undefined;
  const { checkpoints } = memory;
  return new ShutdownManager({
    service: shutdown,
    periods: shutdownPeriods,
    pods: pods.active,
    workers: pods.workers,
    settling: new Settling({ table, checkpoints, cluster, clock }),
    wakeups,
    nodeEvents,
    files,
    rootFolder,
    ports,
  });
}
