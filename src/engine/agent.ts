import type { NodeAddress } from "../model/generated/kubernetes.ts";
import type { AgentView } from "../ports/agent-view.ts";
import type { KubeletHost } from "../ports/kubelet-host.ts";
import type { CgroupMeasurements, StatsProvider } from "../ports/stats.ts";
import { AgentParts } from "./agent/agent-parts.ts";
import type { AgentPorts, AgentSettings } from "./agent/agent-ports.ts";
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
    return this.#parts.stats;
  }

  /** The runtime has answered, and what the first source wants was handed to the workers. */
  get isServing(): boolean {
    return this.#parts.observed.isListed && this.#parts.readiness.isAnyHeard;
  }

  /** When the sync loop last turned, on the monotonic clock. */
  get lastTurnMs(): number {
    return this.#parts.loop.lastTurnMs;
  }

  /** As the API server has them; empty while it does not know the node. */
  get nodeAddresses(): readonly NodeAddress[] {
    return this.#parts.cluster?.node?.status?.addresses ?? [];
  }

  /** Counts what there is now, for somebody who asks for metrics. */
  collectMetrics(): void {
    this.#parts.collectMetrics();
  }

  async run(): Promise<void> {
    const signal = this.#signal;
    const { memory, checkpoints, allocations, loop, workers, prober } = this.#parts;
    await memory.load();
    await allocations.load();
    await this.#parts.nodeCgroups.start();
    try {
      await Promise.all([
        // Without it nothing is done for any pod: when it fails the agent ends, and is started again.
        loop.run(signal),
        ...Object.entries(this.#tasks()).map(([name, run]) => this.#supervise(name, run)),
      ]);
    } finally {
      await workers.stop();
      await prober.stop();
      await checkpoints.flush();
      await allocations.flush();
      await this.#ports.journal.flush();
    }
  }

  /** What runs beside the sync loop; one of them that throws is started again. */
  #tasks(): Readonly<Record<string, () => Promise<void> | undefined>> {
    const parts = this.#parts;
    const signal = this.#signal;
    return {
      "runtime observer": () => parts.observer.run(),
      "runtime health": () => parts.health.run(signal),
      "pod sources": () => parts.intake.run(signal),
      "resize retries": () => parts.allocations.run(signal),
      cluster: () => parts.cluster?.run(signal),
      "node status": () => parts.node?.run(signal),
      "image records": () => parts.images.recover(signal),
      "container collector": () => parts.containerCollector.run(signal),
      "image collector": () => parts.imageCollector.run(signal),
      "volume usage": () => parts.volumeUsage.run(signal),
      eviction: () => parts.eviction.run(signal),
      "node cgroups": () => parts.nodeCgroups.run(signal),
      "shutdown manager": () => parts.shutdown?.run(signal),
      "oom watcher": () => this.#runOomWatcher(),
      "log rotator": () => this.#runLogRotator(),
      "freeze report": () => this.#reportFreeze(),
    };
  }

  #supervise(name: string, run: () => Promise<void> | undefined): Promise<void> {
    const { clock } = this.#ports;
    return supervise({ clock, faults: this.#parts.faults }, name, run, this.#signal);
  }

  #runOomWatcher(): Promise<void> {
    const { kernelLog, log } = this.#ports;
    const nodeEvents = this.#parts.cluster?.events;
    return runOomWatcher({ kernelLog, nodeEvents, log }, this.#signal);
  }

  #reportFreeze(): Promise<void> | undefined {
    const { watchdog, clock, log } = this.#ports;
    if (watchdog === undefined) return undefined;
    const { registry, readiness, memory, cluster } = this.#parts;
    return reportFreeze(
      {
        watchdog,
        pod: (uid) => registry.get(uid),
        sources: readiness,
        events: memory.events,
        recorder: memory.recorder,
        nodeEvents: cluster?.events,
        clock,
        log,
      },
      this.#signal,
    );
  }

  #runLogRotator(): Promise<void> {
    const { runtime, logFiles, clock, log } = this.#ports;
    const { logRotation, runtimeSettings } = this.#settings;
    const { podLogsRoot } = runtimeSettings;
    const { observed } = this.#parts;
    const settings = logRotation;
    return runLogRotator(
      { runtime, observed, files: logFiles, clock, log, settings, podLogsRoot },
      this.#signal,
    );
  }
}
