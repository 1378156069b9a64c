// What a node has of its cluster: a client with the node's credentials, and a certificate for its own API.
import { resolve } from "node:path";
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { createApiClient } from "../drivers/kube/api-client.ts";
import { ConnectionPool } from "../drivers/kube/connection-pool.ts";
import type { RequestRate } from "../drivers/kube/request-rate.ts";
import { millisecondsOf } from "../lib/duration.ts";
import { SetupError } from "../lib/setup-error.ts";
import { berthVersion, kubernetesVersion } from "../lib/version.ts";
import type { NodeAddress } from "../model/generated/kubernetes.ts";
import type { ApiClient } from "../ports/api-client.ts";
import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { ServingCertificate } from "../ports/serving-certificate.ts";
import { type ClientCredentials, openClientCredentials } from "./client-credentials.ts";
import type { KubeletSetup } from "./kubelet-setup.ts";
import { openServingCertificate } from "./serving-certificate.ts";

const defaultCertDir = "/var/lib/kubelet/pki";
const requestMs = 30_000;
/** Clients of the kubelet's API wait for it. */
const reviewMs = 10_000;
// What other clients fall back to for 0.
const fallbackRate = { perSecond: 5, burst: 10 };

export interface ClusterConnectionDeps {
  readonly nodeName: string;
  /** The node's addresses as they are known now. */
  readonly addresses: () => readonly NodeAddress[];
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Clients of one API server. */
interface ClusterClients {
  /** No faster than kubeAPIQPS and kubeAPIBurst. */
  readonly api: ApiClient;
  /** For leases and the node's status: never held back, and soon given up. */
  readonly heartbeatApi: ApiClient;
  /** For events, which have a rate of their own. */
  readonly eventApi: ApiClient;
  /** For reviews of tokens and access, which have a gate of their own: strangers must not hold up the node's requests. */
  readonly reviewApi: ApiClient;
}

export interface ClusterConnection {
  /** Undefined = no kubeconfig was given: the node belongs to no cluster. */
  readonly clients: ClusterClients | undefined;
  readonly servingCertificate: ServingCertificate;
  /** Keeps all certificates valid until `signal` aborts; rejects when only a restart can help. */
  run(signal: AbortSignal): Promise<void>;
}

/** Opens what the flags and the configuration name. Throws a SetupError that names the flag, file or field. */
export async function openClusterConnection(
  { config, settings }: Pick<KubeletSetup, "config" | "settings">,
  deps: ClusterConnectionDeps,
  signal: AbortSignal,
): Promise<ClusterConnection> {
  const { nodeName, addresses, log, metrics } = deps;
  const certDir = resolve(settings.get("cert-dir") || defaultCertDir);
  const kubeconfig = settings.get("kubeconfig") ?? "";
  const bootstrapKubeconfig = settings.get("bootstrap-kubeconfig") ?? "";
  requireKubeconfig(kubeconfig, bootstrapKubeconfig, config);
  const userAgent = `kubelet/${kubernetesVersion} (linux/${architecture()}) berth/${berthVersion}`;
  const credentials =
    kubeconfig === ""
      ? undefined
      : await openClientCredentials(
          {
            kubeconfig: resolve(kubeconfig),
            bootstrapKubeconfig: bootstrapKubeconfig === "" ? "" : resolve(bootstrapKubeconfig),
            certDir,
            rotate: config.rotateCertificates,
            nodeName,
            userAgent,
            log,
            metrics,
          },
          signal,
        );
  warnOfProxies(log);
  const pool = credentials === undefined ? undefined : new ConnectionPool(credentials.endpoint);
  const client = (rate: RequestRate | undefined, timeoutMs: number): ApiClient | undefined =>
    credentials === undefined || pool === undefined
      ? undefined
      : createApiClient({ ...credentials, pool, userAgent, rate, timeoutMs, metrics });
  const api = client(requestRate(config), requestMs);
  const heartbeatApi = client(undefined, heartbeatMs(config));
  const eventApi = client(undefined, requestMs);
  const reviewApi = client(undefined, reviewMs);
  const serving = await openServingCertificate({
    certDir,
    files: { certFile: config.tlsCertFile, keyFile: config.tlsPrivateKeyFile },
    nodeName,
    bootstrap: config.serverTLSBootstrap && api !== undefined ? { api, addresses } : undefined,
    log,
    metrics,
  });
  return {
    clients:
      api && heartbeatApi && eventApi && reviewApi
        ? { api, heartbeatApi, eventApi, reviewApi }
        : undefined,
    servingCertificate: serving.certificate,
    run: (until) => runBoth([credentials, serving], until).finally(() => pool?.close()),
  };
}

function requireKubeconfig(
  kubeconfig: string,
  bootstrapKubeconfig: string,
  { serverTLSBootstrap }: KubeletConfiguration,
): void {
  if (kubeconfig !== "") return;
  if (bootstrapKubeconfig !== "") {
    throw new SetupError(
      "--bootstrap-kubeconfig is given without --kubeconfig",
      "set --kubeconfig to the file that keeps the node's own credentials",
    );
  }
  if (!serverTLSBootstrap) return;
  throw new SetupError(
    "serverTLSBootstrap asks for a certificate from a cluster, but there is no --kubeconfig",
    "give --kubeconfig, or set serverTLSBootstrap to false",
  );
}

/** Ends both when one fails. */
async function runBoth(
  parts: readonly (Pick<ClientCredentials, "run"> | undefined)[],
  signal: AbortSignal,
): Promise<void> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const running = parts.map((part) => part?.run(either) ?? untilAbort(either));
  for (const task of running) task.catch((error: unknown) => failed.abort(error));
  await Promise.allSettled(running);
  if (failed.signal.aborted && !signal.aborted) throw failed.signal.reason;
}

function untilAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolveTask) => {
    if (signal.aborted) resolveTask();
    signal.addEventListener("abort", () => resolveTask(), { once: true });
  });
}

function requestRate({ kubeAPIQPS, kubeAPIBurst }: KubeletConfiguration): RequestRate {
  return {
    perSecond: kubeAPIQPS === 0 ? fallbackRate.perSecond : kubeAPIQPS,
    burst: kubeAPIBurst === 0 ? fallbackRate.burst : kubeAPIBurst,
  };
}

/** A status or lease that comes later than the next one is of no use. */
function heartbeatMs(config: KubeletConfiguration): number {
  const statusMs = millisecondsOf(config.nodeStatusUpdateFrequency);
  return Math.max(1000, Math.min(statusMs, config.nodeLeaseDurationSeconds * 1000));
}

function warnOfProxies(log: Log): void {
  for (const name of ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"]) {
    if ((process.env[name] ?? "") === "") continue;
    log.warn("a proxy is set, but the API server is reached directly", { variable: name });
  }
}

function architecture(): string {
  return process.arch === "x64" ? "amd64" : process.arch;
}
