import { reservedCgroups } from "../../core/resource/node-cgroups.ts";
import { ImageCollector } from "../images/image-collector.ts";
import { ContainerCollector, GarbageCollection } from "../node/garbage-collection.ts";
import { NodeAgent } from "../node/node-agent.ts";
import { NodeStartup } from "../node/node-startup.ts";
import { NodeStatusSource } from "../node/node-status-source.ts";
import { NodeVolumes } from "../node/node-volumes.ts";
import { Settling, ShutdownManager } from "../node/shutdown-manager.ts";
import { EvictionManager } from "../resources/eviction/eviction-manager.ts";
import { ImageFileSystems } from "../resources/eviction/image-fs.ts";
import { NodeCgroups } from "../resources/node-cgroups.ts";
import { CgroupSamples } from "../resources/stats/cgroup-samples.ts";
import { NodeStatsProvider } from "../resources/stats/stats-provider.ts";
import { VolumeUsage } from "../volumes/volume-usage.ts";
import type { WithPods } from "./pod-parts.ts";

const keptDeadContainers = { minAgeMs: 0, maxPerContainer: 1, maxContainers: -1 };

/** What looks after the node: its statistics, its disks and memory, its cgroups, its end, and its place in the cluster. */
export class NodeParts {
  readonly volumeUsage: VolumeUsage;
  readonly stats: NodeStatsProvider;
  readonly imageCollector: ImageCollector;
  readonly containerCollector: ContainerCollector;
  readonly garbage: GarbageCollection;
  readonly eviction: EvictionManager;
  readonly nodeCgroups: NodeCgroups;
  /** Undefined = the machine does not wait for pods when it goes down. */
  readonly shutdown: ShutdownManager | undefined;
  /** Undefined = the node belongs to no cluster. */
  readonly nodeAgent: NodeAgent | undefined;

  constructor(parts: WithPods) {
    const { settings, podLogsRoot } = parts;
    const { thresholds, policy, images: imagePolicy } = settings.eviction;
    this.volumeUsage = new VolumeUsage({ ...parts, periodMs: settings.pods.volumeStatsMs });
    this.stats = new NodeStatsProvider({
      ...parts,
      samples: new CgroupSamples(parts.cgroupStats, parts.clock),
      volumeUsage: this.volumeUsage,
      node: { ...parts, systemCgroups: settings.cgroups.system },
    });
    const disks = new ImageFileSystems(parts.runtime, parts.hostUsage, parts.rootFolder);
    this.imageCollector = new ImageCollector({ ...parts, disks, policy: imagePolicy });
    this.containerCollector = new ContainerCollector({
      ...parts,
      settings: { policy: settings.pods.deadContainers ?? keptDeadContainers, podLogsRoot },
    });
    this.garbage = new GarbageCollection({
      ...parts,
      containers: this.containerCollector,
      images: this.imageCollector,
    });
    const { stats, garbage } = this;
    const evicting = { ...parts, ports: parts, stats, disks, garbage };
    this.eviction = new EvictionManager(evicting, thresholds, policy);
    const reserved = reservedCgroups(settings.cgroups.node.reservations);
    this.nodeCgroups = new NodeCgroups({ ...parts, reserved });
    const { shutdownPeriods: periods } = settings.node;
    this.shutdown =
      periods.length === 0
        ? undefined
        : new ShutdownManager({ ...parts, ports: parts, periods, settling: new Settling(parts) });
    this.nodeAgent = createNodeAgent({ ...parts, eviction: this.eviction }, this.shutdown);
  }
}

function createNodeAgent(
  parts: WithPods & Pick<NodeParts, "eviction">,
  shutdown: ShutdownManager | undefined,
): NodeAgent | undefined {
  const { apiServer, cluster, csiNode } = parts;
  if (apiServer === undefined || cluster === undefined || csiNode === undefined) return undefined;
  const { registration: settings, resolverProblem } = parts.settings.node;
  const api = apiServer.heartbeatApi ?? apiServer.api;
  const readiness = shutdown === undefined ? [csiNode] : [csiNode, shutdown];
  const nodeVolumes = new NodeVolumes({ ...parts, cluster });
  const watched = { ...settings, rootFolder: parts.rootFolder };
  const source = new NodeStatusSource({ ...parts, settings: watched, readiness, nodeVolumes });
  const startup = new NodeStartup({ ...parts, events: cluster.events, resolverProblem });
  return new NodeAgent({ ...parts, api, settings, cluster, source, csiNode, startup });
}
