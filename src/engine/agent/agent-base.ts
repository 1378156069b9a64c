import type { ObjectStore, RuntimeClassStore, ServiceStore } from "../../ports/object-store.ts";
import { ClusterParts } from "../cluster/cluster-parts.ts";
import { defaultClusterSettings } from "../cluster/cluster-settings.ts";
import { EventSender } from "../cluster/event-sender.ts";
import { LocalObjects } from "../intake/local-objects.ts";
import { SourceReadiness } from "../intake/source-readiness.ts";
import { KnownNode } from "../node/known-node.ts";
import { ObservedPods } from "../observe/observed-pods.ts";
import { RuntimeHealth } from "../observe/runtime-health.ts";
import { EphemeralContainers } from "../pods/ephemeral-containers.ts";
import { PodMemory } from "../pods/pod-memory.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable } from "../pods/pod-table.ts";
import { WorkerStates } from "../pods/worker-states.ts";
import { StatusCheckpoints } from "../status/status-checkpoints.ts";
import { EventLog } from "../view/event-log.ts";
import { FlightRecorder } from "../view/flight-recorder.ts";
import { PodChanges } from "../view/pod-changes.ts";
import type { AgentPorts } from "./agent-ports.ts";
import type { AgentSettings } from "./agent-settings.ts";
import { Faults } from "./faults.ts";
import { Wakeups } from "./wakeups.ts";

/** What everything else stands on: the table, what is remembered and shown of pods, the cluster, the runtime's state. */
export class AgentBase {
  readonly ports: AgentPorts;
  readonly settings: AgentSettings;
  readonly lifetime: AbortSignal;
  readonly startedAtMs: number;
  readonly table: PodTable = new PodTable();
  readonly wakeups: Wakeups = new Wakeups();
  readonly registry: PodRegistry = new PodRegistry(this.table);
  readonly states: WorkerStates = new WorkerStates(this.table);
  readonly sources: SourceReadiness;
  /** Those that lie beside the pods of a node without a cluster. */
  readonly localObjects: LocalObjects = new LocalObjects();
  /** Undefined = the node belongs to no cluster. */
  readonly nodeEvents: EventSender | undefined;
  readonly events: EventLog;
  readonly recorder: FlightRecorder;
  readonly faults: Faults;
  readonly changes: PodChanges;
  readonly memory: PodMemory;
  /** Undefined = the node belongs to no cluster. */
  readonly cluster: ClusterParts | undefined;
  readonly node: KnownNode;
  readonly health: RuntimeHealth;
  readonly observed: ObservedPods;

  constructor(ports: AgentPorts, settings: AgentSettings, lifetime: AbortSignal) {
    const { clock, runtime, cluster } = ports;
    const { log, metrics } = ports.telemetry;
    const { host: files, journal } = ports.files;
    const { table, wakeups } = this;
    const { rootFolder, identity, node } = settings;
    this.ports = ports;
    this.settings = settings;
    this.lifetime = lifetime;
    this.startedAtMs = clock.nowMs();
    const names = ports.sources.map(({ name }) => name);
    this.sources = new SourceReadiness(cluster === undefined ? names : [...names, "api"]);
    this.nodeEvents = createEventSender(ports, settings);
    this.events = new EventLog({ table, clock, host: identity.nodeName, sender: this.nodeEvents });
    this.recorder = new FlightRecorder(table, journal);
    const { events, recorder } = this;
    this.faults = new Faults({ log, metrics, clock, table, events, recorder });
    this.changes = new PodChanges({ table, clock, faults: this.faults });
    const { changes } = this;
    this.memory = new PodMemory({
      recorder,
      checkpoints: new StatusCheckpoints({
        table,
        files,
        folder: `${rootFolder}/statuses`,
        log,
        changes,
      }),
      ephemeral: new EphemeralContainers(table, files, `${rootFolder}/ephemeral`, log),
    });
    this.cluster = this.#createCluster();
    this.node = new KnownNode(node.admission.node, node.hostIps, this.cluster);
    this.health = new RuntimeHealth({ runtime: runtime.client, clock, table, wakeups });
    this.observed = new ObservedPods(table, wakeups);
  }

  /** What pods refer to. */
  get objects(): ObjectStore & RuntimeClassStore & ServiceStore {
    return this.cluster?.objects ?? this.localObjects;
  }

  #createCluster(): ClusterParts | undefined {
    const { ports, nodeEvents, settings, registry, faults, states, sources, table, wakeups } = this;
    const { clock, entropy, telemetry, cluster } = ports;
    if (cluster === undefined || nodeEvents === undefined) return undefined;
    const { log, metrics } = telemetry;
    return new ClusterParts({
      ports: { api: cluster.api, clock, random: entropy.random, log, metrics },
      settings,
      registry,
      faults,
      events: nodeEvents,
      states,
      sources,
      table,
      wakeups,
      lifetime: this.lifetime,
    });
  }
}

function createEventSender(ports: AgentPorts, settings: AgentSettings): EventSender | undefined {
  const { clock, entropy, telemetry, cluster } = ports;
  if (cluster === undefined) return undefined;
  const { eventsPerSecond, eventBurst } = settings.cluster ?? defaultClusterSettings;
  return new EventSender({
    api: cluster.eventApi ?? cluster.api,
    clock,
    ...entropy,
    log: telemetry.log,
    nodeName: settings.identity.nodeName,
    perSecond: eventsPerSecond,
    burst: eventBurst,
  });
}
