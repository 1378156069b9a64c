// Every endpoint of the kubelet's API with what answers it.
import type { AgentView } from "../../ports/agent-view.ts";
import type { KubeletHost, MetricsPages } from "../../ports/kubelet-host.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { StatsProvider } from "../../ports/stats.ts";
import { type KubeletExchange, type KubeletHandler, sendRefusal } from "./answers.ts";
import { answerCheckpoint, answerContainerCall } from "./container-handlers.ts";
import type { Endpoint } from "./endpoints.ts";
import { answerHealth, answerHealthCheck, type HealthCheck } from "./health.ts";
import {
  answerConfiguration,
  answerFlags,
  answerMetrics,
  answerPods,
  answerRunningPods,
  answerStatus,
  answerSummary,
  answerVerbosity,
} from "./node-handlers.ts";
import { Profiles } from "./profiles.ts";
import { answerSystemLogs } from "./system-logs.ts";

export interface HandlerDeps {
  readonly view: AgentView;
  readonly host: KubeletHost;
  readonly stats: Pick<StatsProvider, "summary">;
  readonly pages: MetricsPages;
  readonly healthChecks: readonly HealthCheck[];
  readonly metrics?: Metrics | undefined;
  readonly nowMs: () => number;
  /** As /configz shows it. */
  readonly config: object;
  /** As /flagz shows them. */
  readonly flags: ReadonlyMap<string, string>;
  readonly setVerbosity: (level: number) => void;
  readonly systemLogFolder: string;
  readonly streamIdleMs: number;
  readonly splitsLogStreams: boolean;
  readonly translatesWebSockets: boolean;
}

export function createHandlers(deps: HandlerDeps): Readonly<Record<Endpoint, KubeletHandler>> {
  const { view, host, pages, healthChecks } = deps;
  const profiles = new Profiles();
  const containers = {
    view,
    host,
    nowMs: deps.nowMs,
    idleMs: deps.streamIdleMs,
    splitsLogStreams: deps.splitsLogStreams,
    translatesWebSockets: deps.translatesWebSockets,
    onWebSocket: (subresource: string) =>
      deps.metrics?.increment("kubelet_websocket_streaming_requests_total", { subresource }),
  };
  return {
    attach: (exchange) => answerContainerCall(containers, "attach", exchange),
    "container-logs": (exchange) => answerContainerCall(containers, "container-logs", exchange),
    exec: (exchange) => answerContainerCall(containers, "exec", exchange),
    "port-forward": (exchange) => answerContainerCall(containers, "port-forward", exchange),
    run: (exchange) => answerContainerCall(containers, "run", exchange),
    checkpoint: (exchange) => answerCheckpoint(containers, exchange),
    pods: (exchange) => answerPods(view, exchange),
    "running-pods": (exchange) => answerRunningPods(host, exchange),
    "stats-summary": (exchange) => answerSummary(deps.stats, exchange),
    metrics: (exchange) => answerMetrics(pages.own, exchange),
    "cadvisor-metrics": (exchange) => answerMetrics(pages.cadvisor, exchange),
    "resource-metrics": (exchange) => answerMetrics(pages.resource, exchange),
    "probe-metrics": (exchange) => answerMetrics(pages.probes, exchange),
    "sli-metrics": (exchange) => answerMetrics(pages.slis, exchange),
    health: (exchange) => answerHealth(healthChecks, deps.metrics, exchange),
    "health-check": (exchange) => answerHealthCheck(healthChecks, exchange),
    configz: (exchange) => answerConfiguration(deps.config, exchange),
    flagz: (exchange) => answerFlags(deps.flags, exchange),
    statusz: (exchange) => answerStatus(statusFacts(deps), exchange),
    "debug-flags": (exchange) => answerVerbosity(deps.setVerbosity, exchange),
    "flags-disabled": disabled("flags endpoint is disabled."),
    profiling: (exchange) => profiles.answer(exchange),
    "profiling-disabled": disabled("profiling endpoint is disabled."),
    "system-logs": (exchange) => answerSystemLogs(deps.systemLogFolder, exchange),
    "system-logs-disabled": disabled("logs endpoint is disabled."),
    "debugging-disabled": disabled("Debug endpoints are disabled."),
  };
}

function statusFacts({ view, nowMs }: HandlerDeps) {
  const { startedAtMs, version } = view.info();
  const paths = ["/configz", "/debug", "/flagz", "/healthz", "/metrics"];
  return { startedAtMs, version, nowMs: nowMs(), paths };
}

function disabled(message: string): KubeletHandler {
  return ({ response }: KubeletExchange) => sendRefusal(response, 405, message);
}
