import type { NodeAddress } from "../model/generated/kubernetes.ts";
import type { AgentView } from "../ports/agent-view.ts";
import type { KubeletHost } from "../ports/kubelet-host.ts";
import type { CgroupMeasurements, StatsProvider } from "../ports/stats.ts";
import { AgentParts } from "./agent/agent-parts.ts";
import type { AgentPorts } from "./agent/agent-ports.ts";
import type { AgentSettings } from "./agent/agent-settings.ts";
import { collectMetrics } from "./agent/collect-metrics.ts";
import { reportFreeze } from "./agent/report-freeze.ts";
import { supervise } from "./agent/supervise.ts";
import { runLogRotator } from "./node/log-rotator.ts";
import { runOomWatcher } from "./node/oom-watcher.ts";

/**
 * The whole agent above its ports: sources and runtime in, pods and their statuses out. One instance runs
 * once, until its signal aborts; pods are left as they are.
 */
export class Agent {
  readonly #ports: AgentPorts;
  readonly #settings: AgentSettings;
  readonly #signal: AbortSignal;
  readonly #parts: AgentParts;

  constructor(ports: AgentPorts, settings: AgentSettings, signal: AbortSignal) {
    this.#ports = ports;
    this.#settings = settings;
    this.#signal = signal;
    this.#parts = new AgentParts(ports, settings, signal);
  }

  get view(): AgentView {
    return this.#parts.view;
  }

  /** What the kubelet's API may have done. */
  get host(): KubeletHost {
    return this.#parts.host;
  }

  get stats(): StatsProvider & CgroupMeasurements {
    return this.#parts.node.stats;
  }

  /** The runtime has answered, and what the first source wants was handed to the workers. */
  get isServing(): boolean {
    return this.#parts.base.observed.isListed && this.#parts.base.sources.isAnyReady;
  }

  /** When the sync loop last turned, on the monotonic clock. */
  get lastTurnMs(): number {
    return this.#parts.loop.lastTurnMs;
  }

  /** As the API server has them; empty while it does not know the node. */
  get nodeAddresses(): readonly NodeAddress[] {
    return this.#parts.base.cluster?.node?.status?.addresses ?? [];
  }

  /** Counts what there is now, for a scrape of the metrics. */
  collectMetrics(): void {
    const { registry, states, observed } = this.#parts.base;
    const { active, volumes, records } = this.#parts.pods;
    const { metrics } = this.#ports.telemetry;
    const { resizes } = records;
    collectMetrics({ metrics, registry, active, states, observed, volumes, resizes });
  }

  async run(): Promise<void> {
    const signal = this.#signal;
    const { base, pods, node, allocations, loop } = this.#parts;
    await base.memory.load();
    await allocations.load();
    await node.cgroups.start();
    try {
      await Promise.all([
        // Without it nothing is done for any pod: when it fails the agent ends, and is started again.
        loop.run(signal),
        ...Object.entries(this.#tasks()).map(([name, run]) => this.#supervise(name, run)),
      ]);
    } finally {
      await pods.workers.stop();
      await pods.prober.stop();
      await base.memory.checkpoints.flush();
      await allocations.flush();
      await this.#ports.files.journal.flush();
    }
  }

  /** What runs beside the sync loop; one of them that throws is started again. */
  #tasks(): Readonly<Record<string, () => Promise<void> | undefined>> {
    const { base, pods, node, observer, intake, allocations } = this.#parts;
    const signal = this.#signal;
    return {
      "runtime observer": () => observer.run(),
      "runtime health": () => base.health.run(signal),
      "pod sources": () => intake.run(signal),
      "resize retries": () => allocations.run(signal),
      cluster: () => base.cluster?.run(signal),
      "node status": () => node.agent?.run(signal),
      "image records": () => pods.images.recover(signal),
      "container collector": () => node.containerCollector.run(signal),
      "image collector": () => node.imageCollector.run(signal),
      "volume usage": () => node.volumeUsage.run(signal),
      eviction: () => node.eviction.run(signal),
      "node cgroups": () => node.cgroups.run(signal),
      "shutdown manager": () => node.shutdown?.run(signal),
      "oom watcher": () => this.#runOomWatcher(),
      "log rotator": () => this.#runLogRotator(),
      "freeze report": () => this.#reportFreeze(),
    };
  }

  #supervise(name: string, run: () => Promise<void> | undefined): Promise<void> {
    const { clock } = this.#ports;
    return supervise({ clock, faults: this.#parts.base.faults }, name, run, this.#signal);
  }

  #runOomWatcher(): Promise<void> {
    const { kernelLog } = this.#ports.machine;
    const { log } = this.#ports.telemetry;
    const { nodeEvents } = this.#parts.base;
    return runOomWatcher({ kernelLog, nodeEvents, log }, this.#signal);
  }

  #reportFreeze(): Promise<void> | undefined {
    const { clock, telemetry } = this.#ports;
    const { watchdog, log } = telemetry;
    if (watchdog === undefined) return undefined;
    const { table, sources, events, recorder, nodeEvents } = this.#parts.base;
    return reportFreeze(
      { watchdog, table, sources, events, recorder, nodeEvents, clock, log },
      this.#signal,
    );
  }

  #runLogRotator(): Promise<void> {
    const { runtime, files, clock, telemetry } = this.#ports;
    const { logs, runtimeSettings } = this.#settings;
    const { podLogsRoot } = runtimeSettings;
    const { observed } = this.#parts.base;
    return runLogRotator(
      {
        runtime: runtime.client,
        observed,
        files: files.logFiles,
        clock,
        log: telemetry.log,
        settings: logs.rotation,
        podLogsRoot,
      },
      this.#signal,
    );
  }
}
