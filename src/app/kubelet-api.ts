// The kubelet's API of an agent that runs in a kubelet's place.

import { setImmediate } from "node:timers/promises";
import { type FeatureGateState, isFeatureEnabled } from "../config/feature-gates.ts";
import { featureGates } from "../config/generated/feature-gates.ts";
import { readCpuTopology } from "../drivers/linux/cpu-topology.ts";
import { linuxNodeFacts } from "../drivers/linux/node-facts.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import type { Agent } from "../engine/agent.ts";
import { errorText } from "../lib/error-text.ts";
import type { MetricsRegistry } from "../lib/metrics-registry.ts";
import { untilAborted } from "../lib/until-aborted.ts";
import { berthVersion, kubernetesVersion } from "../lib/version.ts";
import type { MetricsPages } from "../ports/kubelet-host.ts";
import type { AdjustableLog, Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { CgroupMeasurements, StatsProvider } from "../ports/stats.ts";
import { formatCadvisorMetrics, type MachineFacts } from "../server/metrics/cadvisor-metrics.ts";
import { formatProcessMetrics, formatProcessStart } from "../server/metrics/process-metrics.ts";
import { formatResourceMetrics } from "../server/metrics/resource-metrics.ts";
import { formatUsageMetrics } from "../server/metrics/usage-metrics.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import { readApiSwitches, safeApiConfig, shownFlags } from "./kubelet-api-options.ts";
import type { KubeletSetup } from "./kubelet-setup.ts";
import { goArchitecture } from "./node-options.ts";
import { programPart } from "./program-parts.ts";
import { serveKubeletApi } from "./serve-kubelet-api.ts";

export interface KubeletApiParts {
  readonly setup: KubeletSetup;
  readonly agent: Agent;
  readonly connection: ClusterConnection;
  readonly metrics: MetricsRegistry;
  readonly nodeName: string;
  readonly log: AdjustableLog;
}

/** Serves the agent on the kubelet's ports until `signal` aborts. */
export async function runKubeletApi(
  { setup, agent, connection, metrics, nodeName, log }: KubeletApiParts,
  signal: AbortSignal,
): Promise<void> {
  const { config, warnings } = safeApiConfig(setup);
  for (const warning of warnings) log.warn("the kubelet's API is not as asked for", { warning });
  const { stats } = agent;
  reportBuild(metrics, setup.gates);
  await serveKubeletApi(
    {
      threadEntry: programPart("kubelet-api-thread"),
      setup: {
        config,
        switches: readApiSwitches(process.env),
        nodeName,
        flags: shownFlags(setup.settings),
        gates: setup.gates,
      },
      agent: {
        view: agent.view,
        host: agent.host,
        stats,
        pages: createMetricsPages({ registry: metrics, agent, stats, log }, signal),
      },
      certificate: connection.servingCertificate,
      api: connection.clients?.reviewApi,
      clock: systemClock,
      log,
      verbosity: log,
      metrics,
    },
    (ports) => log.info("the kubelet's API is served", { ...ports }),
    signal,
  );
}

interface MetricsPagesDeps {
  readonly registry: MetricsRegistry;
  readonly agent: Pick<Agent, "collectMetrics">;
  readonly stats: StatsProvider & CgroupMeasurements;
  readonly log: Log;
}

/** The pages; those that measure are made once for all that ask while one is made. `life` ends what is measured. */
export function createMetricsPages(deps: MetricsPagesDeps, life: AbortSignal): MetricsPages {
  const { registry, agent, stats, log } = deps;
  const orNothing = <T>(what: string, answer: Promise<T>): Promise<T | undefined> =>
    answer.catch((error: unknown) => {
      log.warn("cannot measure for a page of metrics", { page: what, error: errorText(error) });
      return undefined;
    });
  return {
    own: sharedPage(async () => {
      agent.collectMetrics();
      const isElsewhere = (name: string): boolean => isProbe(name) || isHealth(name);
      const summary = await orNothing("own", stats.summary({}, life));
      const usage = summary === undefined ? "" : formatUsageMetrics(summary);
      const text = registry.text((name) => !isElsewhere(name));
      return `${text}${usage}${formatProcessMetrics()}`;
    }),
    probes: { text: () => Promise.resolve(`${registry.text(isProbe)}${formatProcessStart()}`) },
    slis: { text: () => Promise.resolve(`${registry.text(isHealth)}${formatProcessStart()}`) },
    resource: sharedPage(async () => {
      const summary = stats.summary({ cpuAndMemoryOnly: true }, life);
      return formatResourceMetrics(await orNothing("resource", summary));
    }),
    cadvisor: sharedPage(async () => {
      const cgroups = await orNothing("cadvisor", stats.measuredCgroups(life));
      return formatCadvisorMetrics(cgroups, readMachineFacts(), Date.now(), setImmediate);
    }),
  };
}

/** Two that scrape at once cost no more than one. */
function sharedPage(make: () => Promise<string>): MetricsPages["own"] {
  let making: Promise<string> | undefined;
  return {
    text: (signal) => {
      making ??= make().finally(() => {
        making = undefined;
      });
      return untilAborted(making, signal);
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

const [, major = "", minor = ""] = /^v(\d+)\.(\d+)/.exec(kubernetesVersion) ?? [];

export function reportBuild(metrics: Metrics, gates: FeatureGateState): void {
  metrics.set("kubernetes_build_info", 1, {
    // Nothing was compiled, so nothing is known of when and how.
    build_date: "",
    compiler: "",
    git_commit: "",
    git_tree_state: "",
    go_version: "",
    git_version: `${kubernetesVersion}+berth-${berthVersion}`,
    major,
    minor,
    platform: `${process.platform}/${goArchitecture(process.arch)}`,
  });
  for (const [name, { stage }] of Object.entries(featureGates)) {
    const labels = { name, stage: stage === "GA" ? "" : stage };
    metrics.set("kubernetes_feature_enabled", isFeatureEnabled(gates, name) ? 1 : 0, labels);
  }
  // Berth reads cgroups itself, as a kubelet does without statistics of the runtime.
  metrics.set("kubelet_metrics_provider", 1, { provider: "cadvisor" });
}
