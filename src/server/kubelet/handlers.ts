// Every endpoint of the kubelet's API with what answers it.
import { Semaphore } from "../../lib/semaphore.ts";
import type { AgentCalls } from "../../ports/agent-calls.ts";
import type { Metrics } from "../../ports/metrics.ts";
import { type KubeletExchange, type KubeletHandler, sendRefusal } from "./answers.ts";
import { answerCheckpoint, answerContainerCall } from "./container-handlers.ts";
import type { Endpoint } from "./endpoints.ts";
import { answerHealth, answerHealthCheck, type HealthChecks } from "./health.ts";
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
import { LogQueries } from "./query-logs.ts";
import { answerSystemLogs } from "./system-logs.ts";

/** Commands of /run that may be under way at once. */
const maxRuns = 16;

export interface HandlerDeps {
  readonly agent: AgentCalls;
  readonly health: HealthChecks;
  readonly metrics: Pick<Metrics, "increment" | "set">;
  readonly nowMs: () => number;
  /** Of the agent. */
  readonly build: { readonly version: string; readonly startedAtMs: number };
  /** What /configz shows, as JSON. */
  readonly configText: string;
  /** As /flagz shows them. */
  readonly flags: ReadonlyMap<string, string>;
  readonly systemLogFolder: string;
  readonly streamIdleMs: number;
  readonly splitsLogStreams: boolean;
  readonly translatesWebSockets: boolean;
}

export function createHandlers(deps: HandlerDeps): Readonly<Record<Endpoint, KubeletHandler>> {
  const { agent, health } = deps;
  const profiles = new Profiles(agent);
  const queries = new LogQueries({ folder: deps.systemLogFolder, journalctl: "journalctl" });
  const containers = {
    agent,
    runs: new Semaphore(maxRuns),
    nowMs: deps.nowMs,
    idleMs: deps.streamIdleMs,
    splitsLogStreams: deps.splitsLogStreams,
    translatesWebSockets: deps.translatesWebSockets,
    onWebSocket: (subresource: string) =>
      deps.metrics.increment("kubelet_websocket_streaming_requests_total", { subresource }),
  };
  return {
    attach: (exchange) => answerContainerCall(containers, "attach", exchange),
    "container-logs": (exchange) => answerContainerCall(containers, "container-logs", exchange),
    exec: (exchange) => answerContainerCall(containers, "exec", exchange),
    "port-forward": (exchange) => answerContainerCall(containers, "port-forward", exchange),
    run: (exchange) => answerContainerCall(containers, "run", exchange),
    checkpoint: (exchange) => answerCheckpoint(containers, exchange),
    pods: (exchange) => answerPods(agent, exchange),
    "running-pods": (exchange) => answerRunningPods(agent, exchange),
    "stats-summary": (exchange) => answerSummary(agent, exchange),
    metrics: (exchange) => answerMetrics(agent, "own", exchange),
    "cadvisor-metrics": (exchange) => answerMetrics(agent, "cadvisor", exchange),
    "resource-metrics": (exchange) => answerMetrics(agent, "resource", exchange),
    "probe-metrics": (exchange) => answerMetrics(agent, "probes", exchange),
    "sli-metrics": (exchange) => answerMetrics(agent, "slis", exchange),
    health: (exchange) => answerHealth(health, deps.metrics, exchange),
    "health-check": (exchange) => answerHealthCheck(health, exchange),
    configz: (exchange) => answerConfiguration(deps.configText, exchange),
    flagz: (exchange) => answerFlags(deps.flags, exchange),
    statusz: (exchange) => answerStatus(statusFacts(deps), exchange),
    "debug-flags": (exchange) => answerVerbosity(agent, exchange),
    "flags-disabled": disabled("flags endpoint is disabled."),
    profiling: (exchange) => profiles.answer(exchange),
    "profiling-disabled": disabled("profiling endpoint is disabled."),
    "system-log-queries": (exchange) => queries.answer(exchange),
    "system-logs": (exchange) => answerSystemLogs(deps.systemLogFolder, exchange),
    "system-logs-disabled": disabled("logs endpoint is disabled."),
    "debugging-disabled": disabled("Debug endpoints are disabled."),
  };
}

function statusFacts({ build: { startedAtMs, version }, nowMs }: HandlerDeps) {
  const paths = ["/configz", "/debug", "/flagz", "/healthz", "/metrics"];
  return { startedAtMs, version, nowMs: nowMs(), paths };
}

function disabled(message: string): KubeletHandler {
  return ({ response }: KubeletExchange) => sendRefusal(response, 405, message);
}
