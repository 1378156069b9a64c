// What a node has of its cluster: a client with the node's credentials, and a certificate for its own API.

import { resolve } from "node:path";
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { servingSubject } from "../core/certificate/rotation.ts";
import { createApiClient } from "../drivers/kube/api-client.ts";
import { certificateFiles } from "../drivers/kube/certificate-files.ts";
import { certificateRequests } from "../drivers/kube/certificate-requests.ts";
import { ConnectionPool } from "../drivers/kube/connection-pool.ts";
import type { RequestRate } from "../drivers/kube/request-rate.ts";
import {
  type KeptServingCertificate,
  selfSignedFiles,
  servingFiles,
} from "../drivers/kube/serving-files.ts";
import { createSelfSigned } from "../drivers/kube/x509.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import {
  CertificateManager,
  type CertificateProfile,
} from "../engine/cluster/certificate-manager.ts";
import { millisecondsOf } from "../lib/duration.ts";
import { errorText } from "../lib/error-text.ts";
import { SetupError } from "../lib/setup-error.ts";
import { berthVersion, kubernetesVersion } from "../lib/version.ts";
import type { NodeAddress } from "../model/generated/kubernetes.ts";
import type { ApiClient } from "../ports/api-client.ts";
import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { ServingCertificate } from "../ports/serving-certificate.ts";
import { type ClientCredentials, openClientCredentials } from "./client-credentials.ts";
import type { KubeletSetup } from "./kubelet-setup.ts";
import { goArchitecture } from "./node-options.ts";

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
  const userAgent = `kubelet/${kubernetesVersion} (linux/${goArchitecture(process.arch)}) berth/${berthVersion}`;
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

const reloadMs = 5000;
const profile: CertificateProfile = {
  signerName: "kubernetes.io/kubelet-serving",
  usages: ["digital signature", "server auth"],
  metricNames: {
    ttl: "kubelet_certificate_manager_server_ttl_seconds",
    rotationAge: "kubelet_certificate_manager_server_rotation_seconds",
    renewErrors: "kubelet_server_expiration_renew_errors",
  },
};

interface ServingCertificateOptions {
  readonly certDir: string;
  /** Both empty = none was given. */
  readonly files: { readonly certFile: string; readonly keyFile: string };
  readonly nodeName: string;
  /** Asks the cluster for one instead. */
  readonly bootstrap:
    | { readonly api: ApiClient; readonly addresses: () => readonly NodeAddress[] }
    | undefined;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** From the files that were given, from the cluster, or one that the node signs for itself. */
async function openServingCertificate(
  options: ServingCertificateOptions,
): Promise<KeptServingCertificate> {
  const { certDir, files, nodeName, bootstrap, log } = options;
  try {
    if (bootstrap !== undefined) return await fromCluster(options, bootstrap);
    const isGiven = files.certFile !== "" || files.keyFile !== "";
    return servingFiles(isGiven ? files : await selfSignedFiles(certDir, nodeName), log, reloadMs);
  } catch (error) {
    throw new SetupError(
      `the serving certificate cannot be used: ${errorText(error)}`,
      "correct tlsCertFile and tlsPrivateKeyFile, or the files in --cert-dir",
      { cause: error },
    );
  }
}

async function fromCluster(
  { certDir, files, nodeName, log, metrics }: ServingCertificateOptions,
  { api, addresses }: NonNullable<ServingCertificateOptions["bootstrap"]>,
): Promise<KeptServingCertificate> {
  const fallback = files.certFile === "" || files.keyFile === "" ? undefined : files;
  const manager = await CertificateManager.open({
    store: certificateFiles({ folder: certDir, prefix: "kubelet-server", fallback }),
    requests: certificateRequests,
    profile,
    subject: {
      get template() {
        return servingSubject(nodeName, addresses());
      },
    },
    clock: systemClock,
    log,
    metrics,
    random: Math.random,
  });
  // Clients that check certificates refuse it, and those that do not are served from the start.
  const meanwhile = manager.current() ?? (await createSelfSigned(nodeName, systemClock.nowMs()));
  return {
    certificate: {
      current: () => manager.current() ?? meanwhile,
      onChange: (listener, signal) => manager.onChange(listener, signal),
    },
    run: (signal) => manager.run({ first: api, renewing: api }, signal),
  };
}
