// The pages of metrics that a kubelet shows.
import { readCpuTopology } from "../drivers/linux/cpu-topology.ts";
import { linuxNodeFacts } from "../drivers/linux/node-facts.ts";
import type { Agent } from "../engine/agent.ts";
import { errorText } from "../lib/error-text.ts";
import type { MetricsRegistry } from "../lib/metrics-registry.ts";
import type { MetricsPages } from "../ports/kubelet-host.ts";
import type { Log } from "../ports/log.ts";
import type { CgroupMeasurements, StatsProvider } from "../ports/stats.ts";
import { formatCadvisorMetrics, type MachineFacts } from "../server/metrics/cadvisor-metrics.ts";
import { formatProcessMetrics, formatProcessStart } from "../server/metrics/process-metrics.ts";
import { formatResourceMetrics } from "../server/metrics/resource-metrics.ts";
import { formatUsageMetrics } from "../server/metrics/usage-metrics.ts";

export interface MetricsPagesDeps {
  readonly registry: MetricsRegistry;
  readonly agent: Pick<Agent, "collectMetrics">;
  readonly stats: StatsProvider & CgroupMeasurements;
  readonly log: Log;
}

export function createMetricsPages(deps: MetricsPagesDeps): MetricsPages {
  const { registry, agent, stats, log } = deps;
  const orNothing = <T>(what: string, answer: Promise<T>): Promise<T | undefined> =>
    answer.catch((error: unknown) => {
      log.warn("cannot measure for a page of metrics", { page: what, error: errorText(error) });
      return undefined;
    });
  return {
    own: {
      text: async (signal) => {
        agent.collectMetrics();
        const isElsewhere = (name: string): boolean => isProbe(name) || isHealth(name);
        const summary = await orNothing("own", stats.summary({}, signal));
        const usage = summary === undefined ? "" : formatUsageMetrics(summary);
        const text = registry.text((name) => !isElsewhere(name));
        return `${text}${usage}${formatProcessMetrics()}`;
      },
    },
    probes: { text: () => Promise.resolve(`${registry.text(isProbe)}${formatProcessStart()}`) },
    slis: { text: () => Promise.resolve(`${registry.text(isHealth)}${formatProcessStart()}`) },
    resource: {
      text: async (signal) => {
        const summary = stats.summary({ cpuAndMemoryOnly: true }, signal);
        return formatResourceMetrics(await orNothing("resource", summary));
      },
    },
    cadvisor: {
      text: async (signal) => {
        const cgroups = await orNothing("cadvisor", stats.measuredCgroups(signal));
        return formatCadvisorMetrics(cgroups, readMachineFacts(), Date.now());
      },
    },
  };
}

function isProbe(name: string): boolean {
  return name.startsWith("prober_");
}

function isHealth(name: string): boolean {
  return name.startsWith("kubernetes_healthcheck");
}

function readMachineFacts(): MachineFacts {
  const machine = linuxNodeFacts.readMachine();
  const system = linuxNodeFacts.readSystem();
  return {
    info: {
      bootID: machine.bootId,
      machineID: machine.machineId,
      systemUUID: machine.systemUuid,
      ...system,
    },
    cpus: machine.cpuCount,
    memoryBytes: Number(machine.memoryBytes),
    swapBytes: Number(machine.swapBytes),
    ...readCpuTopology(),
  };
}
