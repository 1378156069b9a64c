// Where a node's credentials for the API server come from, by the kubelet's rules.
import { existsSync } from "node:fs";
import { nodeSubject } from "../core/certificate/rotation.ts";
import { createApiClient } from "../drivers/kube/api-client.ts";
import {
  type CertificateFilesOptions,
  certificateFiles,
  currentFile,
} from "../drivers/kube/certificate-files.ts";
import { certificateIdentity } from "../drivers/kube/certificate-identity.ts";
import { certificateRequests } from "../drivers/kube/certificate-requests.ts";
import { firstRequest, removeKeptKey } from "../drivers/kube/client-key-file.ts";
import { type ApiEndpoint, ConnectionPool } from "../drivers/kube/connection-pool.ts";
import type { IdentitySource } from "../drivers/kube/identity.ts";
import { parseCertificates } from "../drivers/kube/key-pair-files.ts";
import type { Kubeconfig } from "../drivers/kube/kubeconfig.ts";
import { kubeconfigIdentity, readSource } from "../drivers/kube/kubeconfig-identity.ts";
import { endpointOf, readKubeconfig } from "../drivers/kube/read-kubeconfig.ts";
import { writeKubeconfig } from "../drivers/kube/write-kubeconfig.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import {
  awaitCertificate,
  CertificateManager,
  type CertificateManagerDeps,
  type CertificateProfile,
  placeOrder,
} from "../engine/cluster/certificate-manager.ts";
import { errorText } from "../lib/error-text.ts";
import { SetupError } from "../lib/setup-error.ts";
import { timeoutSignal } from "../lib/timers.ts";
import { parseYaml } from "../lib/yaml/parse-yaml.ts";
import type { StoredCertificate } from "../model/certificate.ts";
import type { KeyPair } from "../model/key-pair.ts";
import type { ApiClient } from "../ports/api-client.ts";
import type { CertificateStore } from "../ports/certificate-store.ts";
import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";

const signerName = "kubernetes.io/kube-apiserver-client-kubelet";
const requestMs = 30_000;
const firstCertificateMs = 3_600_000;
const profile: CertificateProfile = {
  signerName,
  usages: ["digital signature", "client auth"],
  giveUpMs: 300_000,
  metricNames: {
    ttl: "kubelet_certificate_manager_client_ttl_seconds",
    renewErrors: "kubelet_certificate_manager_client_expiration_renew_errors",
  },
};

export interface ClientCredentialsOptions {
  readonly kubeconfig: string;
  /** Empty = none. */
  readonly bootstrapKubeconfig: string;
  readonly certDir: string;
  readonly rotate: boolean;
  readonly nodeName: string;
  readonly userAgent: string;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** What the node's requests are made with. */
export interface ClientCredentials {
  readonly endpoint: ApiEndpoint;
  readonly identity: IdentitySource;
  /** Renews the client certificate until `signal` aborts; rejects when only a restart can help. */
  run(signal: AbortSignal): Promise<void>;
}

/** Reads the files that the flags name. Without rotation, it waits for a first certificate if one is needed. */
export async function openClientCredentials(
  options: ClientCredentialsOptions,
  signal: AbortSignal,
): Promise<ClientCredentials> {
  const { kubeconfig, bootstrapKubeconfig, rotate, log } = options;
  const needsFirst = bootstrapKubeconfig !== "" && !isStillValid(kubeconfig, log);
  const bootstrap = needsFirst ? load(bootstrapKubeconfig, "--bootstrap-kubeconfig") : undefined;
  if (rotate) return openRotating(options, bootstrap);
  if (bootstrap !== undefined) await getFirstCertificate(options, bootstrap, signal);
  const user = load(kubeconfig, "--kubeconfig");
  return { ...plainCredentials(options, user), run: async () => undefined };
}

function load(path: string, flag: string): Kubeconfig {
  try {
    return readKubeconfig(path, parseYaml);
  } catch (error) {
    throw new SetupError(errorText(error), `correct it, or ${flag}`, { cause: error });
  }
}

/** Whether a kubeconfig has a client certificate of which no part has expired. */
function isStillValid(path: string, log: Log): boolean {
  if (!existsSync(path)) return false;
  try {
    const { certificate } = readKubeconfig(path, parseYaml).user;
    if (certificate === undefined) throw new Error("it has no client certificate");
    const certificates = parseCertificates(readSource(certificate.cert));
    readSource(certificate.key);
    const isExpired = certificates.some(({ validTo }) => Date.parse(validTo) < Date.now());
    if (isExpired) throw new Error("its client certificate has expired");
    return true;
  } catch (error) {
    log.warn("the kubeconfig cannot be used: requesting a new certificate", {
      file: path,
      error: errorText(error),
    });
    return false;
  }
}

function plainCredentials(
  { log, metrics }: ClientCredentialsOptions,
  { cluster, user }: Kubeconfig,
): Pick<ClientCredentials, "endpoint" | "identity"> {
  try {
    const endpoint = endpointOf({ cluster, user }, log);
    const identity = kubeconfigIdentity({ user, cluster, caPem: endpoint.caPem, log, metrics });
    return { endpoint, identity };
  } catch (error) {
    throw new SetupError(errorText(error), "correct the kubeconfig", { cause: error });
  }
}

function clientOf(
  { userAgent, metrics }: ClientCredentialsOptions,
  { endpoint, identity }: Pick<ClientCredentials, "endpoint" | "identity">,
): ApiClient {
  const pool = new ConnectionPool(endpoint);
  return createApiClient({ endpoint, pool, identity, userAgent, timeoutMs: requestMs, metrics });
}

function clientFiles({ certDir }: ClientCredentialsOptions): CertificateFilesOptions {
  return { folder: certDir, prefix: "kubelet-client" };
}

async function openRotating(
  options: ClientCredentialsOptions,
  bootstrap: Kubeconfig | undefined,
): Promise<ClientCredentials> {
  const { kubeconfig, nodeName, log, metrics } = options;
  const pemFile = currentFile(clientFiles(options));
  if (bootstrap !== undefined) await writeKubeconfig(kubeconfig, bootstrap.cluster, pemFile);
  const { cluster, user } = bootstrap ?? load(kubeconfig, "--kubeconfig");
  const given = bootstrap === undefined ? user.certificate : undefined;
  const store = clientStore(options, given, bootstrap !== undefined);
  const own = given === undefined ? plainCredentials(options, { cluster, user }) : undefined;
  const endpoint = own?.endpoint ?? endpointOf({ cluster, user }, log);
  const manager = await openManager({
    store,
    requests: certificateRequests,
    profile,
    subject: { template: nodeSubject(nodeName) },
    initial: givenPair(given),
    clock: systemClock,
    log,
    metrics,
    random: Math.random,
  });
  // A bootstrap identity is good for asking for a certificate only.
  const before = bootstrap === undefined ? own?.identity : undefined;
  const identity = certificateIdentity(manager, before);
  const renewing = clientOf(options, { endpoint, identity });
  const first = own === undefined ? renewing : clientOf(options, own);
  return { endpoint, identity, run: (signal) => manager.run({ first, renewing }, signal) };
}

async function openManager(deps: CertificateManagerDeps): Promise<CertificateManager> {
  try {
    return await CertificateManager.open(deps);
  } catch (error) {
    const fix = "restore the file, or remove it and give --bootstrap-kubeconfig";
    throw new SetupError(errorText(error), fix, { cause: error });
  }
}

/** The pair that stands in the kubeconfig itself. */
function givenPair(certificate: Kubeconfig["user"]["certificate"]): KeyPair | undefined {
  if (certificate?.cert.kind !== "data" || certificate.key.kind !== "data") return undefined;
  return { certPem: certificate.cert.pem, keyPem: certificate.key.pem };
}

/** The node's own certificates, or the files that the kubeconfig names. */
function clientStore(
  options: ClientCredentialsOptions,
  certificate: Kubeconfig["user"]["certificate"],
  canBootstrap: boolean,
): CertificateStore {
  const fallback =
    certificate?.cert.kind === "file" && certificate.key.kind === "file"
      ? { certFile: certificate.cert.path, keyFile: certificate.key.path }
      : undefined;
  const store = certificateFiles({ ...clientFiles(options), fallback });
  if (!canBootstrap) return store;
  return { ...store, read: () => readOrForget(store, options.log) };
}

async function readOrForget(
  store: CertificateStore,
  log: Log,
): Promise<StoredCertificate | undefined> {
  try {
    return await store.read();
  } catch (error) {
    log.warn("the last client certificate cannot be used", { error: errorText(error) });
    return undefined;
  }
}

/** Asks for a certificate with the bootstrap credentials, and writes the kubeconfig once it is issued. */
async function getFirstCertificate(
  options: ClientCredentialsOptions,
  bootstrap: Kubeconfig,
  signal: AbortSignal,
): Promise<void> {
  const { certDir, kubeconfig, nodeName, log } = options;
  const files = clientFiles(options);
  const store = certificateFiles(files);
  const used = await readOrForget(store, log);
  const request = await firstRequest(certDir, nodeSubject(nodeName), used?.keyPem);
  const api = clientOf(options, plainCredentials(options, bootstrap));
  const deadline = AbortSignal.any([signal, timeoutSignal(firstCertificateMs)]);
  const order = await placeWhenUp(api, { ...request, signerName }, log, deadline);
  log.info("waiting for the client certificate", { request: order.name });
  const certPem = await awaitCertificate(api, order, { clock: systemClock, log }, deadline);
  await store.write({ certPem, keyPem: request.keyPem });
  await removeKeptKey(certDir);
  await writeKubeconfig(kubeconfig, bootstrap.cluster, currentFile(files));
}

/** An API server that does not answer yet is waited for; what it refuses is an error. */
async function placeWhenUp(
  api: ApiClient,
  request: Parameters<typeof placeOrder>[1],
  log: Log,
  signal: AbortSignal,
): ReturnType<typeof placeOrder> {
  for (;;) {
    try {
      return await placeOrder(api, request, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Error && error.name === "ApiError") throw error;
      log.warn("the API server does not answer", { error: errorText(error) });
      await systemClock.sleep(2000, signal);
    }
  }
}
