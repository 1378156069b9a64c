import type { NodeAddress } from "../model/generated/kubernetes.ts";
import type { AgentView } from "../ports/agent-view.ts";
import type { KubeletHost } from "../ports/kubelet-host.ts";
import type { CgroupMeasurements, StatsProvider } from "../ports/stats.ts";
import { type AgentParts, createAgentParts } from "./agent/agent-parts.ts";
import type { AgentPorts } from "./agent/agent-ports.ts";
import type { AgentSettings } from "./agent/agent-settings.ts";
import { collectMetrics } from "./agent/collect-metrics.ts";
import { reportFreeze } from "./agent/report-freeze.ts";
import { supervise } from "./agent/supervise.ts";
import { runLogRotator } from "./node/log-rotator.ts";
import { runOomWatcher } from "./node/oom-watcher.ts";
import { runNodeSamples } from "./view/sample-node.ts";

/**
 * The whole agent above its ports: sources and runtime in, pods and their statuses out. One instance runs
 * once, until its signal aborts; pods are left as they are.
 */
export class Agent {
  readonly #parts: AgentParts;

  constructor(ports: AgentPorts, settings: AgentSettings, lifetime: AbortSignal) {
    this.#parts = createAgentParts(ports, settings, lifetime);
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
    return this.#parts.observed.isListed && this.#parts.sources.isAnyReady;
  }

  /** When the sync loop last turned, on the monotonic clock. */
  get lastTurnMs(): number {
    return this.#parts.loop.lastTurnMs;
  }

  /** As the API server has them; empty while it does not know the node. */
  get nodeAddresses(): readonly NodeAddress[] {
    return this.#parts.cluster?.node?.status?.addresses ?? [];
  }

  /** Counts what there is now, for a scrape of the metrics. */
  collectMetrics(): void {
    collectMetrics(this.#parts);
  }

  async run(): Promise<void> {
    const parts = this.#parts;
    const { memory, history, allocations, lifetime } = parts;
    await memory.load();
    history.noteAgent("started", parts.settings.identity.version);
    await allocations.load();
    await parts.managers.start();
    await parts.nodeCgroups.start();
    try {
      await Promise.all([
        // Without it nothing is done for any pod: when it fails the agent ends, and is started again.
        parts.loop.run(lifetime),
        ...Object.entries(this.#tasks()).map(([name, run]) =>
          supervise(parts, name, run, lifetime),
        ),
      ]);
    } finally {
      await parts.workers.stop();
      await parts.prober.stop();
      await parts.checkpoints.flush();
      await allocations.flush();
      parts.history.noteAgent("stopped", parts.settings.identity.version);
      await parts.historyStore.flush();
    }
  }

  /** What runs beside the sync loop; one of them that throws is started again. */
  #tasks(): Readonly<Record<string, () => Promise<void> | undefined>> {
    const parts = this.#parts;
    const { lifetime: signal, watchdog } = parts;
    return {
      "runtime observer": () => parts.observer.run(),
      "runtime health": () => parts.health.run(signal),
      "pod sources": () => parts.intake.run(signal),
      "resize retries": () => parts.allocations.run(signal),
      cluster: () => parts.cluster?.run(signal),
      "node status": () => parts.nodeAgent?.run(signal),
      "image records": () => parts.images.recover(signal),
      "container collector": () => parts.containerCollector.run(signal),
      "image collector": () => parts.imageCollector.run(signal),
      "device plugins": () => parts.deviceEndpoints.run(signal),
      "resource slices": () => parts.draEndpoints.run(parts.claimResources, signal),
      "resource claims": () => parts.claimResources.run(signal),
      "pod resources": () => parts.podResources.run(signal),
      "container CPUs": () => parts.cpuReconciler.run(signal),
      volumes: () => parts.storage.run(signal),
      "volume resolution": () => parts.storage.runResolve(signal),
      plugins: () => parts.pluginRegistry.run(signal),
      "csi allocatable": () => parts.csiAllocatable?.run(signal),
      "volume usage": () => parts.volumeUsage.run(signal),
      eviction: () => parts.eviction.run(signal),
      "node cgroups": () => parts.nodeCgroups.run(signal),
      "shutdown manager": () => parts.shutdown?.run(signal),
      "oom watcher": () => runOomWatcher(parts, signal),
      "log rotator": () =>
        runLogRotator(
          { ...parts, files: parts.logFiles, settings: parts.settings.logs.rotation },
          signal,
        ),
      "node samples": () => runNodeSamples(parts, signal),
      "freeze report": () => watchdog && reportFreeze({ ...parts, watchdog }, signal),
    };
  }
}
