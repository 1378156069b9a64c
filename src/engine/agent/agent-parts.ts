import { NodeRoom } from "../intake/node-room.ts";
import { PodAdmission } from "../intake/pod-admission.ts";
import { PodUpdates } from "../intake/pod-updates.ts";
import { Preemption } from "../intake/preemption.ts";
import { SourceIntake } from "../intake/source-intake.ts";
import { Housekeeping } from "../loop/housekeeping.ts";
import { SyncLoop } from "../loop/sync-loop.ts";
import { ContainerCheckpoints } from "../node/container-checkpoints.ts";
import { NodeHost } from "../node/node-host.ts";
import { Observer } from "../observe/observer.ts";
import { PodReader } from "../observe/pod-reader.ts";
import { createAllocations } from "../resources/allocation/create-allocations.ts";
import type { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import { NodeView } from "../view/node-view.ts";
import { AgentBase } from "./agent-base.ts";
import type { AgentPorts } from "./agent-ports.ts";
import type { AgentSettings } from "./agent-settings.ts";
import { NodeParts } from "./node-parts.ts";
import { PodParts } from "./pod-parts.ts";

const defaultResyncMs = 60_000;

/**
 * Everything that the agent is made of, constructed in the order in which the parts use each other. What must flow back
 * to a part that comes later goes through `Wakeups`, which is connected last.
 */
export class AgentParts {
  readonly base: AgentBase;
  readonly pods: PodParts;
  readonly node: NodeParts;
  readonly allocations: PodAllocations;
  readonly loop: SyncLoop;
  readonly intake: SourceIntake;
  readonly observer: Observer;
  readonly view: NodeView;
  readonly host: NodeHost;

  constructor(ports: AgentPorts, settings: AgentSettings, lifetime: AbortSignal) {
    this.base = new AgentBase(ports, settings, lifetime);
    this.pods = new PodParts(this.base);
    this.node = new NodeParts(this.base, this.pods);
    this.allocations = this.#createAllocations();
    this.loop = this.#createLoop();
    this.intake = this.#createIntake();
    const reader = createReader(this.base);
    this.observer = createObserver(this.base, reader);
    this.view = this.#createView();
    this.host = this.#createHost();
    const { loop, allocations, node } = this;
    this.base.wakeups.connect({ loop, reader, allocations, node: node.agent });
  }

  #createAllocations(): PodAllocations {
    const { ports, settings, table, sources, wakeups, events, faults, node, lifetime } = this.base;
    const { active, workers, records } = this.pods;
    const { eviction, shutdown } = this.node;
    const { clock } = ports;
    const { log, metrics } = ports.telemetry;
    return createAllocations({
      records,
      clock,
      runtimeSettings: settings.runtimeSettings,
      room: new NodeRoom({
        active,
        checks: shutdown === undefined ? [eviction] : [shutdown, eviction],
        facts: settings.node.admission,
        node,
        preemption: new Preemption({
          table,
          workers,
          wakeups,
          log,
          metrics,
          events,
          faults,
          lifetime,
        }),
      }),
      table,
      sources,
      wakeups,
      events,
      faults,
      metrics,
    });
  }

  #createLoop(): SyncLoop {
    const { ports, states, registry, sources, changes, cluster, observed, health } = this.base;
    const { faults, events, table, memory } = this.base;
    const { clock } = ports;
    const { log, metrics, watchdog } = ports.telemetry;
    const { active, statuses, workers, starts, queue, remains } = this.pods;
    const { allocations } = this;
    const shared = { clock, log, metrics, events, faults };
    const admission = new PodAdmission({ ...shared, table, allocations, observed, statuses });
    const updates = new PodUpdates({
      registry,
      sources,
      admission,
      allocations,
      workers,
      states,
      starts,
      changes,
      cluster,
      clock,
    });
    const housekeeping = new Housekeeping(
      {
        table,
        registry,
        sources,
        workers,
        admission,
        active,
        statuses,
        remains,
        faults,
        metrics,
      },
      { allocations, checkpoints: memory.checkpoints, cluster, observed },
    );
    return new SyncLoop({
      updates,
      workers,
      housekeeping,
      queue,
      health,
      observed,
      clock,
      log,
      faults,
      progress: watchdog?.progress,
    });
  }

  #createIntake(): SourceIntake {
    const { ports, cluster, localObjects, memory, events, faults } = this.base;
    const { sources, clock, telemetry } = ports;
    return new SourceIntake({
      sources: cluster === undefined ? sources : [...sources, cluster.source],
      objects: localObjects,
      memory,
      clock,
      log: telemetry.log,
      events,
      faults,
      loop: this.loop,
    });
  }

  #createView(): NodeView {
    const { ports, settings, table, changes, memory, events } = this.base;
    const { observer, intake } = this;
    const { garbage, stats } = this.node;
    const { clock, runtime } = ports;
    return new NodeView({
      ports: { clock, runtime: runtime.client },
      settings,
      table,
      changes,
      events,
      observer,
      memory,
      intake,
      garbage,
      stats,
    });
  }

  #createHost(): NodeHost {
    const { ports, settings, observed } = this.base;
    const { clock } = ports;
    const { client: runtime } = ports.runtime;
    const { host: files } = ports.files;
    const { hostUsage } = ports.machine;
    const { rootFolder, pods } = settings;
    const { resyncIntervalMs = defaultResyncMs } = pods;
    const folder = `${rootFolder}/checkpoints`;
    const checkpoints = new ContainerCheckpoints({ runtime, files, hostUsage, clock, folder });
    const { loop } = this;
    return new NodeHost({ runtime, clock, observed, loop, resyncIntervalMs, checkpoints });
  }
}

function createReader({ ports, settings, table, observed, faults, wakeups, lifetime }: AgentBase) {
  const { clock } = ports;
  const { client: runtime } = ports.runtime;
  const { host: files, foreignFiles } = ports.files;
  const { log, metrics } = ports.telemetry;
  const { rootFolder, identity, runtimeSettings } = settings;
  const { runtimeName } = identity;
  const { containerStopSignals: hasStopSignals, podLogsRoot } = runtimeSettings;
  const messages = { files, foreignFiles, rootFolder, podLogsRoot };
  const reading = { runtime, clock, runtimeName, hasStopSignals, messages, table, exits: observed };
  return new PodReader(
    { table, observed, reading, clock, log, faults, metrics, wakeups },
    lifetime,
  );
}

function createObserver(base: AgentBase, reader: PodReader): Observer {
  const { ports, observed, health, wakeups, lifetime } = base;
  const { clock } = ports;
  const { client: runtime, events: eventSources } = ports.runtime;
  const { log, metrics } = ports.telemetry;
  return new Observer(
    { runtime, eventSources, observed, reader, health, clock, log, metrics, wakeups },
    lifetime,
  );
}
