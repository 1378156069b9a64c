// The kubelet's API, as its configuration has it: served in a thread of its own, which asks the agent.
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { millisecondsOf } from "../lib/duration.ts";
import type { ApiClient } from "../ports/api-client.ts";
import type { Clock } from "../ports/clock.ts";
import type { AdjustableLog, Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { ServingCertificate } from "../ports/serving-certificate.ts";
import type {
  AccessSettings,
  ApiSettings,
  ListeningPorts,
  SecureSettings,
} from "../server/kubelet/api-settings.ts";
import { ClientCaFile } from "../server/kubelet/client-ca-file.ts";
import { pingName } from "../server/kubelet/health.ts";
import { cipherList, curveList, minTlsVersion } from "../server/kubelet/tls-settings.ts";
import { createAgentCalls, type HealthCheck, type ServedAgent } from "./agent-calls.ts";
import {
  type KubeletApiSwitches,
  requireAccessConfig,
  shownConfig,
} from "./kubelet-api-options.ts";
import { runApiThread } from "./run-api-thread.ts";

const systemLogFolder = "/var/log";

/** How the API is served. */
interface KubeletApiSetup {
  readonly config: KubeletConfiguration;
  readonly switches: KubeletApiSwitches;
  readonly nodeName: string;
  readonly flags: ReadonlyMap<string, string>;
  readonly splitsLogStreams: boolean;
  readonly translatesWebSockets: boolean;
}

export interface KubeletApiDeps {
  /** The program of the API's thread. */
  readonly threadEntry: URL;
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
    splitsLogStreams: setup.splitsLogStreams,
    translatesWebSockets: setup.translatesWebSockets,
  };
}

function secureSettings(setup: KubeletApiSetup): SecureSettings {
  const { config, switches } = setup;
  return {
    address: { host: config.address, port: config.port, setting: "address and port (--port)" },
    endpoints: {
      debugging: config.enableDebuggingHandlers,
      systemLogs: config.enableSystemLogHandler && switches.systemLogs,
      profiling: config.enableProfilingHandler,
      debugFlags: config.enableDebugFlagsHandler,
    },
    access: accessSettings(setup),
    minVersion: minTlsVersion(config.tlsMinVersion),
    ciphers: cipherList(config.tlsCipherSuites ?? []),
    curves: curveList(config.tlsCurvePreferences ?? []),
  };
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
