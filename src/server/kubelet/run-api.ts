// The kubelet's API on every port that is on: put together from its settings and from what asks the agent.
import type { IncomingMessage } from "node:http";
import type { AgentCalls } from "../../ports/agent-calls.ts";
import type { Log } from "../../ports/log.ts";
import type {
  AccessSettings,
  ApiCertificates,
  ApiSettings,
  ListeningPorts,
  ServerName,
} from "./api-settings.ts";
import { createAuthenticator } from "./authenticate.ts";
import { TokenReviewer } from "./bearer-token.ts";
import type { AccessRules } from "./check-access.ts";
import { CertificateReader } from "./client-certificate.ts";
import { type EndpointSettings, endpointTable, healthTable } from "./endpoints.ts";
import { createHandlers } from "./handlers.ts";
import { AgentHealth, pingName } from "./health.ts";
import type { KubeletApi } from "./kubelet-handler.ts";
import { runPlainServer, runSecureServer } from "./kubelet-server.ts";
import type { RequestMetrics } from "./request-meter.ts";
import { createSubjectAccessAuthorizer } from "./subject-access.ts";

export interface ApiDeps {
  readonly settings: ApiSettings;
  readonly certificates: () => ApiCertificates;
  /** Calls back when there are other certificates. */
  readonly onCertificatesChange: (listener: () => void) => void;
  readonly agent: AgentCalls;
  readonly metrics: RequestMetrics;
  readonly log: Log;
}

/** Serves until `signal` aborts or a server fails. `onListening` is called once. */
export async function runApi(
  deps: ApiDeps,
  onListening: (ports: ListeningPorts) => void,
  signal: AbortSignal,
): Promise<void> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const servers = createServers(deps, either);
  const ports: { [Name in ServerName]?: number } = {};
  const running = servers.map(({ name, run }) =>
    run((port) => {
      ports[name] = port;
      if (Object.keys(ports).length === servers.length) onListening(ports);
    }),
  );
  for (const task of running) task.catch(() => failed.abort());
  const outcomes = await Promise.allSettled(running);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}

interface NamedServer {
  readonly name: ServerName;
  readonly run: (onListening: (port: number) => void) => Promise<void>;
}

const readOnlyEndpoints: Omit<EndpointSettings, "healthChecks"> = {
  debugging: false,
  systemLogs: "off",
  profiling: false,
  debugFlags: false,
  checkpoint: false,
  flagz: false,
  statusz: false,
};

function createServers(deps: ApiDeps, signal: AbortSignal): readonly NamedServer[] {
  const { settings, log, metrics } = deps;
  const { secure, readOnly, health, healthChecks } = settings;
  const agentHealth = new AgentHealth(deps.agent);
  const handlers = (names: readonly string[]) =>
    createHandlers({
      ...settings,
      agent: deps.agent,
      health: { names, agent: agentHealth },
      metrics,
      nowMs: () => Date.now(),
    });
  const common = { handlers: handlers(healthChecks), log, metrics };
  const servers: NamedServer[] = [];
  if (secure !== undefined) {
    const table = endpointTable({ healthChecks, ...secure.endpoints });
    const api = { ...common, table, access: accessRules(deps, secure.access) };
    const run: NamedServer["run"] = (onListening) =>
      runSecureServer(api, { ...secure, ...deps }, onListening, signal);
    servers.push({ name: "secure", run });
  }
  const plain = (name: ServerName, address: typeof health, api: KubeletApi): void => {
    if (address === undefined) return;
    const run: NamedServer["run"] = (onListening) =>
      runPlainServer(api, address, onListening, signal);
    servers.push({ name, run });
  };
  plain("readOnly", readOnly, {
    ...common,
    table: endpointTable({ healthChecks, ...readOnlyEndpoints }),
  });
  // It says whether the process is well, and nothing else.
  plain("health", health, {
    handlers: handlers([pingName]),
    log,
    table: healthTable([pingName]),
  });
  return servers;
}

function accessRules(
  { agent, certificates, metrics }: ApiDeps,
  { nodeName, upstreamExecVerb, anonymous, tokenCacheMs, authorization }: AccessSettings,
): AccessRules<IncomingMessage> {
  const monotonicMs = (): number => performance.now();
  const tokens =
    tokenCacheMs === undefined
      ? undefined
      : new TokenReviewer({ agent, cacheMs: tokenCacheMs, monotonicMs });
  const reader = new CertificateReader(
    () => certificates().clientAuthoritiesPem,
    () => Date.now(),
  );
  return {
    nodeName,
    upstreamExecVerb,
    authenticate: createAuthenticator({ certificates: reader, tokens, anonymous }),
    authorize:
      authorization === undefined
        ? () => Promise.resolve(true)
        : createSubjectAccessAuthorizer({ agent, ...authorization, monotonicMs, metrics }),
  };
}
