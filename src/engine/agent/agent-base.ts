import type { Semaphore } from "../../lib/semaphore.ts";
import type { ObjectStore, RuntimeClassStore, ServiceStore } from "../../ports/object-store.ts";
import { ClusterParts } from "../cluster/cluster-parts.ts";
import { defaultClusterSettings } from "../cluster/cluster-settings.ts";
import { EventSender, type NodeEvents } from "../cluster/event-sender.ts";
import { newSandboxStops } from "../execute/kill-pod.ts";
import { LocalObjects } from "../intake/local-objects.ts";
import { SourceReadiness } from "../intake/source-readiness.ts";
import { KnownNode } from "../node/known-node.ts";
import { ObservedPods } from "../observe/observed-pods.ts";
import { RuntimeHealth } from "../observe/runtime-health.ts";
import { ActivePods } from "../pods/active-pods.ts";
import { PodMemory } from "../pods/pod-memory.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable } from "../pods/pod-table.ts";
import { WorkerStates } from "../pods/worker-states.ts";
import type { StatusCheckpoints } from "../status/status-checkpoints.ts";
import { EventLog } from "../view/event-log.ts";
import { FlightRecorder } from "../view/flight-recorder.ts";
import { NodeHistory } from "../view/node-history.ts";
import { PodChanges } from "../view/pod-changes.ts";
import type { AgentPorts } from "./agent-ports.ts";
import type { AgentSettings } from "./agent-settings.ts";
import { Faults } from "./faults.ts";
import { Wakeups } from "./wakeups.ts";

/** What everything else stands on: the table, what is remembered and shown of pods, the cluster, the runtime's state. */
export class AgentBase {
  readonly settings: AgentSettings;
  readonly rootFolder: string;
  readonly podLogsRoot: string;
  readonly nodeName: string;
  readonly lifetime: AbortSignal;
  readonly agentStartedAtMs: number;
  readonly table: PodTable = new PodTable();
  readonly wakeups: Wakeups = new Wakeups();
  readonly sandboxStops: Semaphore = newSandboxStops();
  readonly registry: PodRegistry = new PodRegistry(this.table);
  readonly states: WorkerStates = new WorkerStates(this.table);
  readonly sources: SourceReadiness;
  /** Those that lie beside the pods of a node without a cluster. */
  readonly localObjects: LocalObjects = new LocalObjects();
  readonly history: NodeHistory;
  /** What happens to the node: kept, and sent to the cluster. */
  readonly nodeEvents: NodeEvents;
  readonly events: EventLog;
  readonly recorder: FlightRecorder;
  readonly faults: Faults;
  readonly active: ActivePods;
  readonly changes: PodChanges;
  readonly checkpoints: StatusCheckpoints;
  readonly memory: PodMemory;
  /** Undefined = the node belongs to no cluster. */
  readonly cluster: ClusterParts | undefined;
  /** What pods refer to. */
  readonly objects: ObjectStore & RuntimeClassStore & ServiceStore;
  readonly node: KnownNode;
  readonly health: RuntimeHealth;
  readonly observed: ObservedPods;

  constructor(ports: AgentPorts, settings: AgentSettings, lifetime: AbortSignal) {
    const { table, wakeups, registry, states } = this;
    const { rootFolder, identity } = settings;
    this.settings = settings;
    this.rootFolder = rootFolder;
    this.podLogsRoot = settings.runtimeSettings.podLogsRoot;
    this.nodeName = identity.nodeName;
    this.lifetime = lifetime;
    this.agentStartedAtMs = ports.clock.nowMs();
    const names = ports.podSources.map(({ name }) => name);
    this.sources = new SourceReadiness(ports.apiServer === undefined ? names : [...names, "api"]);
    this.history = new NodeHistory({ ...ports, table });
    const { history } = this;
    const sender = createEventSender({ ...ports, history }, settings);
    this.nodeEvents = sender ?? history;
    this.events = new EventLog({ ...ports, table, host: identity.nodeName, history, sender });
    this.recorder = new FlightRecorder(table, history);
    const seen = { ...ports, table, events: this.events, recorder: this.recorder };
    this.faults = new Faults(seen);
    this.active = new ActivePods(table, this.faults);
    const kept = { ...seen, faults: this.faults };
    this.changes = new PodChanges(kept);
    history.follow(this.changes, lifetime);
    this.memory = new PodMemory({ ...kept, history, rootFolder, changes: this.changes });
    this.checkpoints = this.memory.checkpoints;
    const { sources } = this;
    const shared = { ...kept, settings, lifetime, registry, states, sources, wakeups };
    this.cluster =
      ports.apiServer && sender
        ? new ClusterParts({
            ...shared,
            ports: { ...ports, ...ports.apiServer, podEvents: this.events },
            events: sender,
          })
        : undefined;
    this.objects = this.cluster?.objects ?? this.localObjects;
    const { admission, hostIps } = settings.node;
    this.node = new KnownNode(admission.node, hostIps, this.cluster);
    this.health = new RuntimeHealth(shared);
    this.observed = new ObservedPods(table, wakeups);
  }
}

/** What the rest is constructed of: the ports and the base, flat. */
export type Base = AgentPorts & FieldsOf<AgentBase>;

/** The fields of an object of a class as a plain object, which others may be added to. */
export type FieldsOf<T> = { readonly [Name in keyof T]: T[Name] };

function createEventSender(
  ports: AgentPorts & Pick<AgentBase, "history">,
  settings: AgentSettings,
): EventSender | undefined {
  if (ports.apiServer === undefined) return undefined;
  const { api, eventApi = api } = ports.apiServer;
  const { eventsPerSecond: perSecond, eventBurst: burst } =
    settings.cluster ?? defaultClusterSettings;
  const { nodeName } = settings.identity;
  return new EventSender({ ...ports, api: eventApi, nodeName, perSecond, burst });
}
