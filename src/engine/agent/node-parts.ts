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
    const { clock, machine } = ports;
    const { client: runtime } = ports.runtime;
    const { host: files, foreignFiles } = ports.files;
    const { log, metrics } = ports.telemetry;
    const { rootFolder, eviction, cgroups, runtimeSettings } = settings;
    const { podLogsRoot } = runtimeSettings;
    const periodMs = settings.pods.volumeStatsMs;
    this.volumeUsage = new VolumeUsage({ foreignFiles, clock, log, metrics, table, periodMs });
    this.stats = this.#createStats(base, pods);
    const disks = new ImageFileSystems(runtime, machine.hostUsage, rootFolder);
    const policy = eviction.images;
    const shared = { runtime, observed, nodeEvents, clock, log };
    this.imageCollector = new ImageCollector({ ...shared, disks, policy, metrics });
    this.containerCollector = new ContainerCollector({
      ...shared,
      files,
      foreignFiles,
      settings: { policy: settings.pods.deadContainers ?? keptDeadContainers, podLogsRoot },
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
      version: machine.cgroups.version,
      metrics,
      pods: pods.cgroups,
      reserved: reservedCgroups(cgroups.node.reservations),
      cgroupsAt: machine.cgroupsAt,
      nodeEvents,
      clock,
      log,
    });
    this.shutdown = createShutdown(base, pods);
    this.agent = this.#createAgent(base);
  }

  #createStats({ ports, settings, faults, startedAtMs }: AgentBase, pods: PodParts) {
    const { clock } = ports;
    const { cgroups, cgroupStats, hostUsage } = ports.machine;
    const { rootFolder, runtimeSettings } = settings;
    const { nodeName } = settings.identity;
    const { system: systemCgroups } = settings.cgroups;
    const { podLogsRoot } = runtimeSettings;
    return new NodeStatsProvider({
      runtime: ports.runtime.client,
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
    const { clock } = ports;
    const { memoryGauge: gauge } = ports.machine;
    const { log, metrics } = ports.telemetry;
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
        ports: { clock, log, metrics },
      },
      thresholds,
      policy,
    );
  }

  #createAgent({ ports, settings, cluster, health }: AgentBase): NodeAgent | undefined {
    const { clock } = ports;
    const { client: runtime } = ports.runtime;
    const { nodeFacts, hostUsage, cgroups } = ports.machine;
    const { log, metrics } = ports.telemetry;
    const { rootFolder } = settings;
    const { registration } = settings.node;
    const { eviction, shutdown } = this;
    if (ports.cluster === undefined || cluster === undefined) return undefined;
    const api = ports.cluster.heartbeatApi ?? ports.cluster.api;
    const { nodeName } = registration;
    const csiNode = new CsiNode({ api, log, nodeName });
    const source = new NodeStatusSource({
      settings: registration,
      rootFolder,
      clock,
      facts: nodeFacts,
      usage: hostUsage,
      runtime,
      files: ports.files.host,
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
      cgroupVersion: cgroups.version,
    });
    return new NodeAgent({
      api,
      settings: registration,
      clock,
      random: ports.entropy.random,
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
  const { clock } = ports;
  const { log, metrics } = ports.telemetry;
  const { node, rootFolder } = base.settings;
  const { shutdownPeriods } = node;
  if (shutdownPeriods.length === 0) return undefined;
  const { checkpoints } = memory;
  return new ShutdownManager({
    service: ports.machine.shutdown,
    periods: shutdownPeriods,
    pods: pods.active,
    workers: pods.workers,
    settling: new Settling({ table, checkpoints, cluster, clock }),
    wakeups,
    nodeEvents,
    files: ports.files.host,
    rootFolder,
    ports: { clock, log, metrics },
  });
}
