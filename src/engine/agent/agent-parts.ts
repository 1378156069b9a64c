import { ClusterParts } from "../cluster/cluster-parts.ts";
import type { ExecutorDeps } from "../execute/execute-plan.ts";
import type { ImageCollector } from "../images/image-collector.ts";
import type { ImageManager } from "../images/image-manager.ts";
import { LocalObjects } from "../intake/local-objects.ts";
import type { PodAdmission } from "../intake/pod-admission.ts";
import type { SourceIntake } from "../intake/source-intake.ts";
import { SourceReadiness } from "../intake/source-readiness.ts";
import type { SyncLoop } from "../loop/sync-loop.ts";
import { WorkQueue } from "../loop/work-queue.ts";
import type { ContainerCollector } from "../node/container-collector.ts";
import type { GarbageCollection } from "../node/garbage-collection.ts";
import { KnownNode } from "../node/known-node.ts";
import type { NodeAgent } from "../node/node-agent.ts";
import type { NodeHost } from "../node/node-host.ts";
import type { ShutdownManager } from "../node/shutdown-manager.ts";
import { ObservedPods } from "../observe/observed-pods.ts";
import type { Observer } from "../observe/observer.ts";
import type { PodReader } from "../observe/pod-reader.ts";
import { RuntimeHealth } from "../observe/runtime-health.ts";
import { ActivePods } from "../pods/active-pods.ts";
import { PodMemory } from "../pods/pod-memory.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import type { PodRemains } from "../pods/pod-remains.ts";
import type { PodStage } from "../pods/pod-stage.ts";
import { PodStartMetrics } from "../pods/pod-start-metrics.ts";
import { PodTable } from "../pods/pod-table.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { Prober } from "../probes/prober.ts";
import type { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import type { EvictionManager } from "../resources/eviction/eviction-manager.ts";
import type { NodeCgroups } from "../resources/node-cgroups.ts";
import type { NodePodCgroups } from "../resources/pod-cgroups.ts";
import type { NodeStatsProvider } from "../resources/stats/stats-provider.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";
import { StatusCheckpoints } from "../status/status-checkpoints.ts";
import { NodeView } from "../view/node-view.ts";
import { PodChanges } from "../view/pod-changes.ts";
import type { VolumeManager } from "../volumes/volume-manager.ts";
import type { VolumeUsage } from "../volumes/volume-usage.ts";
import type { AgentPorts, AgentSettings } from "./agent-ports.ts";
import { collectMetrics } from "./collect-metrics.ts";
import { composeFaults } from "./compose/faults.ts";
import { composeHost } from "./compose/kubelet-host.ts";
import { composeNode } from "./compose/node.ts";
import { composeObserver, composeProber, composeReader } from "./compose/observation.ts";
import {
  composeCgroups,
  composeRemains,
  composeStages,
  composeVolumes,
} from "./compose/pod-data.ts";
import {
  composeAdmission,
  composeAllocations,
  composeExecutor,
  composeIntake,
  composeLoop,
  composeStatuses,
  composeWorkers,
} from "./compose/pod-life.ts";
import {
  composeContainerCollector,
  composeEviction,
  composeGarbageCollection,
  composeImageCollector,
  composeNodeCgroups,
  composeShutdown,
  composeStats,
  composeVolumeUsage,
} from "./compose/resources.ts";
import { createImageManager } from "./create-image-manager.ts";
import type { Faults } from "./faults.ts";
import { Wakeups } from "./wakeups.ts";

/**
 * The parts of the agent, put together by `compose/`: each knows of the others only what it needs, and asks for it when
 * it needs it, since they need each other in circles. `Agent` runs them.
 */
export class AgentParts {
  readonly ports: AgentPorts;
  readonly settings: AgentSettings;
  readonly signal: AbortSignal;
  readonly startedAtMs: number;

  readonly table: PodTable = new PodTable();
  readonly wakeups: Wakeups = new Wakeups();
  readonly registry: PodRegistry = new PodRegistry(this.table);
  readonly readiness: SourceReadiness;
  /** Those that lie beside the pods of a node without a cluster. */
  readonly localObjects: LocalObjects = new LocalObjects();
  readonly queue: WorkQueue;
  readonly starts: PodStartMetrics;
  readonly faults: Faults;
  readonly changes: PodChanges;
  readonly checkpoints: StatusCheckpoints;
  readonly memory: PodMemory;
  /** Undefined = the node belongs to no cluster. */
  readonly cluster: ClusterParts | undefined;
  readonly knownNode: KnownNode;
  readonly intake: SourceIntake;
  readonly health: RuntimeHealth;
  readonly observed: ObservedPods;
  readonly prober: Prober;
  readonly allocations: PodAllocations;
  readonly statuses: PodStatuses;
  readonly images: ImageManager;
  readonly cgroups: NodePodCgroups;
  readonly volumes: VolumeManager;
  readonly stages: readonly PodStage[];
  readonly executor: ExecutorDeps;
  readonly remains: PodRemains;
  readonly workers: PodWorkers;
  readonly admission: PodAdmission;
  readonly active: ActivePods;
  readonly loop: SyncLoop;
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
  readonly node: NodeAgent | undefined;
  readonly reader: PodReader;
  readonly observer: Observer;
  readonly view: NodeView;
  readonly host: NodeHost;

  constructor(ports: AgentPorts, settings: AgentSettings, signal: AbortSignal) {
    this.ports = ports;
    this.settings = settings;
    this.signal = signal;
    this.startedAtMs = ports.clock.nowMs();
    const { sources, api } = ports;
    const names = sources.map(({ name }) => name);
    this.readiness = new SourceReadiness(api === undefined ? names : [...names, "api"]);
    const { table, wakeups } = this;
    this.queue = new WorkQueue({ ports, table, wakeups }, settings.resyncIntervalMs);
    this.starts = new PodStartMetrics(this.table, ports.metrics, ports.clock);
    this.faults = composeFaults(this);
    this.active = new ActivePods(this.table, this.faults);
    this.changes = new PodChanges({
      table: this.table,
      clock: ports.clock,
      faults: this.faults,
    });
    this.checkpoints = new StatusCheckpoints({
      table: this.table,
      files: ports.files,
      folder: `${settings.rootFolder}/statuses`,
      log: ports.log,
      changes: this.changes,
    });
    this.memory = new PodMemory({
      table: this.table,
      ports,
      settings,
      checkpoints: this.checkpoints,
      onEvent: (event) => this.cluster?.events.take(event),
    });
    this.cluster = this.#createCluster();
    this.knownNode = new KnownNode(settings.node, settings.hostIps, this.cluster);
    this.intake = composeIntake(this);
    const { runtime, clock } = ports;
    this.health = new RuntimeHealth({ runtime, clock, table: this.table, wakeups: this.wakeups });
    this.observed = new ObservedPods(this.table, this.wakeups);
    this.allocations = composeAllocations(this);
    this.cgroups = composeCgroups(this);
    this.statuses = composeStatuses(this);
    this.prober = composeProber(this);
    this.images = createImageManager(ports, settings, {
      table: this.table,
      changes: this.changes,
      starts: this.starts,
    });
    this.volumes = composeVolumes(this);
    this.stages = composeStages(this);
    this.executor = composeExecutor(this);
    this.remains = composeRemains(this);
    this.workers = composeWorkers(this);
    this.admission = composeAdmission(this);
    this.loop = composeLoop(this);
    this.volumeUsage = composeVolumeUsage(this);
    this.stats = composeStats(this);
    this.imageCollector = composeImageCollector(this);
    this.containerCollector = composeContainerCollector(this);
    this.garbage = composeGarbageCollection(this);
    this.eviction = composeEviction(this);
    this.nodeCgroups = composeNodeCgroups(this);
    this.shutdown = composeShutdown(this);
    this.node = composeNode(this);
    this.reader = composeReader(this);
    this.observer = composeObserver(this);
    this.view = this.#createView();
    this.host = composeHost(this);
    this.wakeups.connect({ loop: this.loop, reader: this.reader, node: this.node });
  }

  /** Every pod wants a look. */
  syncAll(): void {
    for (const { metadata } of this.registry.list()) this.loop.requestSync(metadata.uid);
  }

  /** Counts what there is now, for somebody who asks for metrics. */
  collectMetrics(): void {
    collectMetrics({
      metrics: this.ports.metrics,
      registry: this.registry,
      active: this.active,
      workers: this.workers,
      observed: this.observed,
      volumes: this.volumes,
      allocations: this.allocations,
    });
  }

  #createView(): NodeView {
    return new NodeView({
      ports: this.ports,
      settings: this.settings,
      table: this.table,
      changes: this.changes,
      observer: this.observer,
      memory: this.memory,
      intake: this.intake,
      garbage: this.garbage,
      stats: this.stats,
    });
  }

  #createCluster(): ClusterParts | undefined {
    const { api } = this.ports;
    if (api === undefined) return undefined;
    return new ClusterParts({
      api,
      ports: this.ports,
      settings: this.settings,
      registry: this.registry,
      faults: this.faults,
      workers: () => this.workers,
      sources: this.readiness,
      table: this.table,
      wakeups: this.wakeups,
      lifetime: this.signal,
    });
  }
}
