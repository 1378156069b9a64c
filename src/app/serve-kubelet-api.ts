// The kubelet's API, as its configuration has it.
import type { IncomingMessage } from "node:http";
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { parseNanoseconds } from "../lib/nanoseconds.ts";
import type { AgentView } from "../ports/agent-view.ts";
import type { ApiClient } from "../ports/api-client.ts";
import type { Clock } from "../ports/clock.ts";
import type { KubeletHost, MetricsPages } from "../ports/kubelet-host.ts";
import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { ServingCertificate } from "../ports/serving-certificate.ts";
import type { StatsProvider } from "../ports/stats.ts";
import { createAuthenticator } from "../server/kubelet/authenticate.ts";
import { TokenReviewer } from "../server/kubelet/bearer-token.ts";
import type { AccessRules, Authorizer } from "../server/kubelet/check-access.ts";
import { ClientCaFile } from "../server/kubelet/client-ca-file.ts";
import { CertificateReader } from "../server/kubelet/client-certificate.ts";
import { endpointTable, healthTable } from "../server/kubelet/endpoints.ts";
import { createHandlers } from "../server/kubelet/handlers.ts";
import { type HealthCheck, pingCheck } from "../server/kubelet/health.ts";
import type { KubeletApi } from "../server/kubelet/kubelet-handler.ts";
import { runPlainServer, runSecureServer } from "../server/kubelet/kubelet-server.ts";
import { createSubjectAccessAuthorizer } from "../server/kubelet/subject-access.ts";
import { cipherList, curveList, minTlsVersion } from "../server/kubelet/tls-settings.ts";
import {
  type KubeletApiSwitches,
  requireAccessConfig,
  shownConfig,
} from "./kubelet-api-options.ts";

const systemLogFolder = "/var/log";

export interface KubeletApiDeps {
  readonly config: KubeletConfiguration;
  readonly switches: KubeletApiSwitches;
  readonly nodeName: string;
  readonly view: AgentView;
  readonly host: KubeletHost;
  readonly stats: Pick<StatsProvider, "summary">;
  readonly pages: MetricsPages;
  /** Beside ping, log and syncloop. */
  readonly healthChecks?: readonly HealthCheck[] | undefined;
  readonly flags: ReadonlyMap<string, string>;
  readonly setVerbosity: (level: number) => void;
  readonly splitsLogStreams: boolean;
  readonly translatesWebSockets: boolean;
  readonly certificate: ServingCertificate;
  /** Undefined = there is no cluster. */
  readonly api: ApiClient | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
}

/** The ports that are listened on; undefined = that one is off. */
export interface ListeningPorts {
  readonly secure?: number | undefined;
  readonly readOnly?: number | undefined;
  readonly health?: number | undefined;
}

/** Serves every port that the configuration has on until `signal` aborts. `onListening` is called once. */
export async function serveKubeletApi(
  deps: KubeletApiDeps,
  onListening: (ports: ListeningPorts) => void,
  signal: AbortSignal,
): Promise<void> {
  const { config } = deps;
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const servers = config.enableServer ? await apiServers(deps, either) : [];
  if (config.healthzPort > 0) servers.push(healthServer(deps, either));
  const ports: Record<string, number> = {};
  const listening = (name: string) => (port: number) => {
    ports[name] = port;
    if (Object.keys(ports).length === servers.length) onListening(ports);
  };
  if (servers.length === 0) onListening({});
  const running = servers.map(({ name, run }) => run(listening(name)));
  for (const task of running) task.catch(() => failed.abort());
  const outcomes = await Promise.allSettled(running);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}

interface NamedServer {
  readonly name: keyof ListeningPorts;
  readonly run: (onListening: (port: number) => void) => Promise<void>;
}

async function apiServers(deps: KubeletApiDeps, signal: AbortSignal): Promise<NamedServer[]> {
  const { config, log, metrics, clock } = deps;
  const checks = healthChecks(deps);
  const healthNames = checks.map(({ name }) => name);
  const handlers = createHandlers({
    ...deps,
    healthChecks: checks,
    nowMs: () => clock.nowMs(),
    config: shownConfig(config),
    systemLogFolder,
    streamIdleMs: milliseconds(config.streamingConnectionIdleTimeout),
  });
  const { clientCAFile } = config.authentication.x509;
  const authorities = clientCAFile === "" ? undefined : await ClientCaFile.open(clientCAFile);
  const access = accessRules(deps, authorities);
  const common = { handlers, log, metrics };
  const table = endpointTable({
    healthChecks: healthNames,
    debugging: config.enableDebuggingHandlers,
    systemLogs: config.enableSystemLogHandler && deps.switches.systemLogs,
    profiling: config.enableProfilingHandler,
    debugFlags: config.enableDebugFlagsHandler,
  });
  const secure = { ...common, table, access };
  const servers: NamedServer[] = [
    {
      name: "secure",
      run: (onListening) => runSecure(deps, secure, authorities, { onListening, signal }),
    },
  ];
  if (config.readOnlyPort > 0) {
    const off = { debugging: false, systemLogs: false, profiling: false, debugFlags: false };
    const readOnly = { ...common, table: endpointTable({ healthChecks: healthNames, ...off }) };
    const { address: host, readOnlyPort: port } = config;
    const place = { host, port, setting: "readOnlyPort (--read-only-port)" };
    servers.push({
      name: "readOnly",
      run: (onListening) => runPlainServer(readOnly, place, onListening, signal),
    });
  }
  return servers;
}

async function runSecure(
  { config, certificate, clock, log }: KubeletApiDeps,
  api: KubeletApi,
  authorities: ClientCaFile | undefined,
  { onListening, signal }: { onListening: (port: number) => void; signal: AbortSignal },
): Promise<void> {
  const listeners = new Set<() => void>();
  const watching = authorities?.run(
    () => listeners.forEach((listener) => listener()),
    { clock, log },
    signal,
  );
  await runSecureServer(
    api,
    {
      address: { host: config.address, port: config.port, setting: "address and port (--port)" },
      certificate,
      minVersion: minTlsVersion(config.tlsMinVersion),
      ciphers: cipherList(config.tlsCipherSuites ?? []),
      curves: curveList(config.tlsCurvePreferences ?? []),
      clientAuthorities: authorities === undefined ? undefined : () => authorities.pem,
      onAuthoritiesChange: (listener) => listeners.add(listener),
    },
    onListening,
    signal,
  );
  await watching;
}

/** The port that says whether the process is well, and nothing else. */
function healthServer(deps: KubeletApiDeps, signal: AbortSignal): NamedServer {
  const { config, clock, log } = deps;
  const handlers = createHandlers({
    ...deps,
    healthChecks: [pingCheck],
    nowMs: () => clock.nowMs(),
    config: {},
    systemLogFolder,
    streamIdleMs: 0,
  });
  const { healthzBindAddress: host, healthzPort: port } = config;
  const place = { host, port, setting: "healthzPort (--healthz-port)" };
  const api = { table: healthTable([pingCheck.name]), handlers, log };
  return { name: "health", run: (onListening) => runPlainServer(api, place, onListening, signal) };
}

function healthChecks({ host, healthChecks: others = [] }: KubeletApiDeps): readonly HealthCheck[] {
  return [
    pingCheck,
    // What is logged is written at once or lost; nothing of it can be stuck.
    { name: "log", problem: () => undefined },
    { name: "syncloop", problem: () => host.syncLoopProblem() },
    ...others,
  ];
}

function accessRules(
  deps: KubeletApiDeps,
  authorities: ClientCaFile | undefined,
): AccessRules<IncomingMessage> {
  const { config, api, clock, nodeName, switches } = deps;
  requireAccessConfig(config, api !== undefined);
  const { anonymous, webhook } = config.authentication;
  const nowMs = (): number => clock.nowMs();
  const tokens =
    webhook.enabled && api !== undefined
      ? new TokenReviewer({ client: api, cacheMs: milliseconds(webhook.cacheTTL), nowMs })
      : undefined;
  const certificates =
    authorities === undefined ? undefined : new CertificateReader(() => authorities.pem, nowMs);
  return {
    nodeName,
    upstreamExecVerb: switches.upstreamExecAuthorization,
    authenticate: createAuthenticator({ certificates, tokens, anonymous: anonymous.enabled }),
    authorize: createAuthorizer(deps),
  };
}

function createAuthorizer({ config, api, clock, metrics }: KubeletApiDeps): Authorizer {
  const { mode, webhook } = config.authorization;
  if (mode === "AlwaysAllow" || api === undefined)
    return () => Promise.resolve(mode === "AlwaysAllow");
  return createSubjectAccessAuthorizer({
    client: api,
    allowedMs: milliseconds(webhook.cacheAuthorizedTTL),
    deniedMs: milliseconds(webhook.cacheUnauthorizedTTL),
    nowMs: () => clock.nowMs(),
    metrics,
  });
}

function milliseconds(duration: string): number {
  const parsed = parseNanoseconds(duration);
  return parsed.ok ? Number(parsed.value) / 1_000_000 : 0;
}
