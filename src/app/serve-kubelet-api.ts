// The kubelet's API, as its configuration has it: served in a thread of its own, which asks the agent.

import type { ResourceLimits } from "node:worker_threads";
import { type FeatureGateState, isFeatureEnabled } from "../config/feature-gates.ts";
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { millisecondsOf } from "../lib/duration.ts";
import { errorText } from "../lib/error-text.ts";
import { SetupError } from "../lib/setup-error.ts";
import { sleep } from "../lib/timers.ts";
import type { AgentCalls } from "../ports/agent-calls.ts";
import type { ApiClient } from "../ports/api-client.ts";
import type { Clock } from "../ports/clock.ts";
import type { AdjustableLog, Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { ServingCertificate } from "../ports/serving-certificate.ts";
import type {
  AccessSettings,
  ApiCertificates,
  ApiSettings,
  ListeningPorts,
  SecureSettings,
} from "../server/kubelet/api-settings.ts";
import type { ApiThreadEvent } from "../server/kubelet/api-thread-messages.ts";
import { ClientCaFile } from "../server/kubelet/client-ca-file.ts";
import type { EndpointSettings } from "../server/kubelet/endpoints.ts";
import { pingName } from "../server/kubelet/health.ts";
import { cipherList, curveList, minTlsVersion } from "../server/kubelet/tls-settings.ts";
import { createAgentCalls, type HealthCheck, type ServedAgent } from "./agent-calls.ts";
import {
  type KubeletApiSwitches,
  requireAccessConfig,
  shownConfig,
} from "./kubelet-api-options.ts";
import { WatchedThread } from "./watched-thread.ts";

const systemLogFolder = "/var/log";

/** How the API is served. */
interface KubeletApiSetup {
  readonly config: KubeletConfiguration;
  readonly switches: KubeletApiSwitches;
  readonly nodeName: string;
  readonly flags: ReadonlyMap<string, string>;
  readonly gates: FeatureGateState;
}

export interface KubeletApiDeps {
  /** The program of the API's thread. */
  readonly threadEntry: URL | string;
  readonly setup: KubeletApiSetup;
  readonly agent: ServedAgent;
  /** Beside ping, log and syncloop. */
  readonly healthChecks?: readonly HealthCheck[] | undefined;
  readonly certificate: ServingCertificate;
  /** For reviews of tokens and access; undefined = there is no cluster. */
  readonly api: ApiClient | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly verbosity: Pick<AdjustableLog, "showDetails">;
  readonly metrics?: Metrics | undefined;
}

/** Serves every port that the configuration has on until `signal` aborts. `onListening` is called once. */
export async function serveKubeletApi(
  deps: KubeletApiDeps,
  onListening: (ports: ListeningPorts) => void,
  signal: AbortSignal,
): Promise<void> {
  const { certificate, clock, log, metrics, agent } = deps;
  const { config } = deps.setup;
  if (config.enableServer) requireAccessConfig(config, deps.api !== undefined);
  else if (config.healthzPort <= 0) {
    onListening({});
    return;
  }
  const { clientCAFile } = config.authentication.x509;
  const authorities =
    config.enableServer && clientCAFile !== "" ? await ClientCaFile.open(clientCAFile) : undefined;
  const checks = healthChecks(deps);
  const { version, startedAtMs } = agent.view.info();
  const certificateListeners = new Set<() => void>();
  const notify = (): void => certificateListeners.forEach((listener) => listener());
  certificate.onChange(notify, signal);
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const watching = authorities?.run(notify, { clock, log }, either);
  const settings = apiSettings(deps.setup, checks, { version, startedAtMs });
  try {
    await runApiThread(
      {
        entry: deps.threadEntry,
        settings,
        calls: createAgentCalls({ ...deps, healthChecks: checks }),
        certificates: {
          current: () => ({
            serving: certificate.current(),
            clientAuthoritiesPem: authorities?.pem,
          }),
          onChange: (listener, until) => {
            certificateListeners.add(listener);
            until.addEventListener("abort", () => certificateListeners.delete(listener));
          },
        },
        metrics,
        log,
      },
      onListening,
      signal,
    );
  } finally {
    failed.abort();
    await watching;
  }
}

function apiSettings(
  setup: KubeletApiSetup,
  checks: readonly HealthCheck[],
  build: ApiSettings["build"],
): ApiSettings {
  const { config } = setup;
  const { address, readOnlyPort, healthzBindAddress, healthzPort } = config;
  return {
    secure: config.enableServer ? secureSettings(setup) : undefined,
    readOnly:
      config.enableServer && readOnlyPort > 0
        ? { host: address, port: readOnlyPort, setting: "readOnlyPort (--read-only-port)" }
        : undefined,
    health:
      healthzPort > 0
        ? { host: healthzBindAddress, port: healthzPort, setting: "healthzPort (--healthz-port)" }
        : undefined,
    healthChecks: [pingName, ...checks.map(({ name }) => name)],
    build,
    configText: JSON.stringify({ kubeletconfig: shownConfig(config) }),
    flags: setup.flags,
    systemLogFolder,
    streamIdleMs: millisecondsOf(config.streamingConnectionIdleTimeout),
    splitsLogStreams: isFeatureEnabled(setup.gates, "PodLogsQuerySplitStreams"),
    translatesWebSockets: isFeatureEnabled(setup.gates, "ExtendWebSocketsToKubelet"),
  };
}

function secureSettings(setup: KubeletApiSetup): SecureSettings {
  const { config, switches, gates } = setup;
  return {
    address: { host: config.address, port: config.port, setting: "address and port (--port)" },
    endpoints: {
      debugging: config.enableDebuggingHandlers,
      systemLogs: systemLogsOf(config, switches),
      profiling: config.enableProfilingHandler,
      debugFlags: config.enableDebugFlagsHandler,
      checkpoint: isFeatureEnabled(gates, "ContainerCheckpoint"),
      flagz: isFeatureEnabled(gates, "ComponentFlagz"),
      statusz: isFeatureEnabled(gates, "ComponentStatusz"),
    },
    access: accessSettings(setup),
    minVersion: minTlsVersion(config.tlsMinVersion),
    ciphers: cipherList(config.tlsCipherSuites ?? []),
    curves: curveList(config.tlsCurvePreferences ?? []),
  };
}

/** Queries have to be asked for by the configuration, files in another way. */
function systemLogsOf(
  { enableSystemLogHandler, enableSystemLogQuery }: KubeletConfiguration,
  switches: KubeletApiSwitches,
): EndpointSettings["systemLogs"] {
  if (!enableSystemLogHandler) return "off";
  if (enableSystemLogQuery) return "queries";
  return switches.systemLogs ? "files" : "off";
}

function accessSettings({ config, nodeName, switches }: KubeletApiSetup): AccessSettings {
  const { anonymous, webhook } = config.authentication;
  const { mode, webhook: answers } = config.authorization;
  return {
    nodeName,
    upstreamExecVerb: switches.upstreamExecAuthorization,
    anonymous: anonymous.enabled,
    tokenCacheMs: webhook.enabled ? millisecondsOf(webhook.cacheTTL) : undefined,
    authorization:
      mode === "AlwaysAllow"
        ? undefined
        : {
            allowedMs: millisecondsOf(answers.cacheAuthorizedTTL),
            deniedMs: millisecondsOf(answers.cacheUnauthorizedTTL),
          },
  };
}

/** The checks that the agent answers; ping is that it answers at all. */
function healthChecks({
  agent,
  healthChecks: others = [],
}: KubeletApiDeps): readonly HealthCheck[] {
  return [
    // What is logged is written at once or lost; nothing of it can be stuck.
    { name: "log", problem: () => undefined },
    { name: "syncloop", problem: () => agent.host.syncLoopProblem() },
    ...others,
  ];
}

/** The pages of a full node take some megabytes each while they are sent; new objects mostly die young. */
const resourceLimits: ResourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 8 };
/** Calls whose answers are bytes that can be transferred. */
const handedOver: readonly (keyof AgentCalls)[] = [
  "listPods",
  "readMetrics",
  "readSummary",
  "takeProfile",
];
const firstDelayMs = 100;
const longestDelayMs = 10_000;
/** A thread that ran for this long is restarted without delay. */
const steadyMs = 60_000;

interface ApiThreadOptions {
  /** The program of the thread. */
  readonly entry: URL | string;
  readonly settings: ApiSettings;
  readonly calls: AgentCalls;
  readonly certificates: CertificateSource;
  readonly metrics: Pick<Metrics, "reset"> | undefined;
  readonly log: Log;
}

interface CertificateSource {
  current(): ApiCertificates;
  /** Calls back when there are other certificates, until the signal aborts. */
  onChange(listener: () => void, signal: AbortSignal): void;
}

/** Serves until `signal` aborts. `onListening` is called once. Rejects when the thread cannot be started at first. */
async function runApiThread(
  options: ApiThreadOptions,
  onListening: (ports: ListeningPorts) => void,
  signal: AbortSignal,
): Promise<void> {
  let ports: ListeningPorts | undefined;
  let delayMs = firstDelayMs;
  while (!signal.aborted) {
    const startedMs = performance.now();
    const settings = onPorts(options.settings, ports);
    const onThreadListening = (found: ListeningPorts): void => {
      if (ports === undefined) onListening(found);
      else options.log.info("the kubelet's API is served again", { ...found });
      ports = found;
    };
    const error = await runOnce({ ...options, settings }, onThreadListening, signal);
    // What it counted as under way is over.
    options.metrics?.reset("kubelet_http_inflight_requests");
    if (signal.aborted) return;
    if (ports === undefined) throw error;
    if (performance.now() - startedMs > steadyMs) delayMs = firstDelayMs;
    options.log.error("the thread of the kubelet's API ended, starting it again", {
      reason: errorText(error),
      delayMs,
    });
    await sleep(delayMs, signal).catch(() => undefined);
    delayMs = Math.min(2 * delayMs, longestDelayMs);
  }
}

/** The ports that were chosen at first are listened on again. */
function onPorts(settings: ApiSettings, ports: ListeningPorts | undefined): ApiSettings {
  if (ports === undefined) return settings;
  const { secure, readOnly, health } = settings;
  const on = <Address extends { readonly port: number }>(
    address: Address,
    port: number | undefined,
  ): Address => ({ ...address, port: port ?? address.port });
  return {
    ...settings,
    secure: secure && { ...secure, address: on(secure.address, ports.secure) },
    readOnly: readOnly && on(readOnly, ports.readOnly),
    health: health && on(health, ports.health),
  };
}

/** Resolves, when the thread has ended, to the reason. */
async function runOnce(
  { entry, settings, calls, certificates }: ApiThreadOptions,
  onListening: (ports: ListeningPorts) => void,
  signal: AbortSignal,
): Promise<Error> {
  const ended = new AbortController();
  const thread = new WatchedThread<AgentCalls, ApiThreadEvent>({
    name: "kubelet-api",
    entry,
    resourceLimits,
    data: { settings, certificates: certificates.current() },
    calls,
    handedOver,
  });
  certificates.onChange(() => thread.send(certificates.current()), ended.signal);
  const onEvent = (event: ApiThreadEvent): void => {
    if (event.kind === "listening") onListening(event.ports);
    else {
      const { setting } = event.address;
      thread.end(new SetupError(event.message, `choose another one with ${setting}`));
    }
  };
  const reason = await thread.run(onEvent, signal);
  ended.abort();
  return reason;
}
