// The kubelet's API of an agent that runs in a kubelet's place.
import { isFeatureEnabled } from "../config/feature-gates.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import type { Agent } from "../engine/agent.ts";
import type { MetricsRegistry } from "../lib/metrics-registry.ts";
import type { AdjustableLog } from "../ports/log.ts";
import { reportBuild } from "./build-metrics.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import { readApiSwitches, safeApiConfig, shownFlags } from "./kubelet-api-options.ts";
import type { KubeletSetup } from "./kubelet-setup.ts";
import { createMetricsPages } from "./metrics-pages.ts";
import { serveKubeletApi } from "./serve-kubelet-api.ts";

/** The build puts it beside the file that this one becomes part of. */
const threadEntry = new URL("./kubelet-api-thread.js", import.meta.url);

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
      threadEntry,
      setup: {
        config,
        switches: readApiSwitches(process.env),
        nodeName,
        flags: shownFlags(setup.settings),
        splitsLogStreams: isFeatureEnabled(setup.gates, "PodLogsQuerySplitStreams"),
        translatesWebSockets: isFeatureEnabled(setup.gates, "ExtendWebSocketsToKubelet"),
      },
      agent: {
        view: agent.view,
        host: agent.host,
        stats,
        pages: createMetricsPages({ registry: metrics, agent, stats, log }),
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
