import { hasSubject, rotationTimeMs } from "../../core/certificate/rotation.ts";
import { Backoff } from "../../lib/backoff.ts";
import { decodeBase64, encodeBase64 } from "../../lib/base64.ts";
import { deepEqual } from "../../lib/deep-equal.ts";
import { errorText } from "../../lib/error-text.ts";
import { decodeUtf8 } from "../../lib/utf8.ts";
import { isApiStatus } from "../../model/api-error.ts";
import type { CertificateTemplate, StoredCertificate } from "../../model/certificate.ts";
import type {
  CertificateSigningRequest,
  CertificateSigningRequestList,
} from "../../model/generated/kubernetes.ts";
import type { MetricName } from "../../model/generated/metrics.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { CertificateRequests, CertificateStore } from "../../ports/certificate-store.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Random } from "../../ports/random.ts";

const orderMs = 15 * 60_000;
const checkMs = 10_000;
const templateMs = 1000;
const backoffLimits = { initialMs: 2_000, maxMs: 32_000 };
const backoffTries = 5;
const lateRetryMs = 32_000;

/** What a certificate is for. */
export interface CertificateProfile {
  readonly signerName: string;
  readonly usages: readonly string[];
  /** Give up when there has been no valid certificate for so long although the API server answers. */
  readonly giveUpMs?: number | undefined;
  readonly metricNames: {
    readonly ttl: MetricName;
    readonly renewErrors?: MetricName | undefined;
    readonly rotationAge?: MetricName | undefined;
  };
}

export interface CertificateManagerDeps {
  readonly store: CertificateStore;
  readonly requests: CertificateRequests;
  readonly profile: CertificateProfile;
  /** Whom the certificate is to be for; its template is undefined as long as that is not known. */
  readonly subject: { readonly template: CertificateTemplate | undefined };
  /** What to begin with where the store has none; it is replaced at once. */
  readonly initial?: KeyPair | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly random: Random;
}

/** What certificates are requested with. */
interface CertificateClients {
  /** While there is no valid certificate. */
  readonly first: ApiClient;
  /** While there is one. */
  readonly renewing: ApiClient;
}

/** Keeps one certificate valid: requests the next one in time, and takes over what others put in its place. */
export class CertificateManager {
  readonly #deps: CertificateManagerDeps;
  readonly #listeners = new Set<(pair: KeyPair) => void>();
  #current: StoredCertificate | undefined;
  #mustRotate = false;
  #isServerHealthy = false;

  private constructor(deps: CertificateManagerDeps) {
    this.#deps = deps;
  }

  /** Begins with the store's certificate. Rejects when there is one that cannot be read. */
  static async open(deps: CertificateManagerDeps): Promise<CertificateManager> {
    const manager = new CertificateManager(deps);
    const stored = await deps.store.read();
    if (stored !== undefined && deps.clock.nowMs() < stored.notAfterMs) {
      manager.#current = stored;
    } else {
      manager.#mustRotate = true;
      if (deps.initial !== undefined) manager.#current = await deps.store.write(deps.initial);
    }
    manager.#showLife();
    return manager;
  }

  /** Undefined as long as there is none, and from when it has expired. */
  current(): StoredCertificate | undefined {
    const isExpired = (this.#current?.notAfterMs ?? 0) < this.#deps.clock.nowMs();
    return isExpired ? undefined : this.#current;
  }

  /** Calls back whenever the certificate has changed. */
  onChange(listener: (pair: KeyPair) => void, signal: AbortSignal): void {
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => this.#listeners.delete(listener), { once: true });
  }

  /** Rotates until `signal` aborts; rejects when there is nothing left to request with and a restart may help. */
  async run(clients: CertificateClients, signal: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const stopOnFailure = (error: unknown): void => {
      if (!either.aborted) failed.abort(error);
    };
    await Promise.all([
      this.#rotateForever(clients, either).catch(stopOnFailure),
      this.#checkForever(either).catch(stopOnFailure),
    ]);
    if (failed.signal.aborted) throw failed.signal.reason;
  }

  async #rotateForever(clients: CertificateClients, signal: AbortSignal): Promise<void> {
    const { clock, subject } = this.#deps;
    for (;;) {
      await this.#waitForTime(signal);
      if (subject.template !== undefined) await this.#rotateUntilDone(clients, signal);
      // A signer that leaves out what was requested is not asked again at once.
      const isLacking = this.#current !== undefined && !this.#fits();
      await clock.sleep(isLacking ? lateRetryMs : templateMs, signal);
    }
  }

  /** Resolves when the certificate is old enough, or when its subject is no longer the right one. */
  async #waitForTime(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    if (this.#mustRotate) {
      this.#mustRotate = false;
      return;
    }
    const certificate = this.#current;
    if (certificate === undefined) return;
    const dueMs = rotationTimeMs(certificate, random());
    while (this.#fits() && this.#current === certificate) {
      const leftMs = dueMs - clock.nowMs();
      if (leftMs <= 0) return;
      await clock.sleep(Math.min(leftMs, checkMs), signal);
    }
  }

  #fits(): boolean {
    const wanted = this.#deps.subject.template;
    if (this.#current === undefined) return false;
    return wanted === undefined || hasSubject(this.#current.subject, wanted);
  }

  async #rotateUntilDone(clients: CertificateClients, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#deps;
    const backoff = new Backoff({ ...backoffLimits, jitter: { share: 0.1, random } });
    for (let tries = 1; !(await this.#rotate(clients, signal)); tries++) {
      if (tries === backoffTries) log.error("still no new certificate after several attempts");
      await clock.sleep(tries < backoffTries ? backoff.nextMs() : lateRetryMs, signal);
    }
  }

  /** Whether there is a new certificate. */
  async #rotate(clients: CertificateClients, signal: AbortSignal): Promise<boolean> {
    const { log, metrics } = this.#deps;
    const { metricNames, signerName } = this.#deps.profile;
    try {
      await this.#orderAndStore(clients, signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (metricNames.renewErrors !== undefined) metrics.increment(metricNames.renewErrors);
      log.warn("cannot get a certificate", { signer: signerName, error: errorText(error) });
      return false;
    }
  }

  async #orderAndStore(clients: CertificateClients, signal: AbortSignal): Promise<void> {
    const { requests, store, metrics, clock, log } = this.#deps;
    const { metricNames, signerName, usages } = this.#deps.profile;
    const { template } = this.#deps.subject;
    if (template === undefined) throw new Error("the subject of the certificate is not known yet");
    const { csrPem, keyPem } = await requests.create(template);
    const api = this.current() === undefined ? clients.first : clients.renewing;
    const order = await placeOrder(api, { csrPem, signerName, usages }, signal).catch(
      (error: unknown) => {
        this.#isServerHealthy = [401, 403, 404].some((status) => isApiStatus(error, status));
        throw error;
      },
    );
    log.info("requested a certificate", { request: order.name, signer: signerName });
    const certPem = await this.#whileWanted(template, signal, (wanted) =>
      awaitCertificate(api, order, { clock, log }, wanted),
    );
    const before = this.#current;
    this.#adopt(await store.write({ certPem, keyPem }));
    this.#isServerHealthy = true;
    log.info("got a new certificate", { request: order.name, signer: signerName });
    if (before !== undefined && metricNames.rotationAge !== undefined) {
      const seconds = (clock.nowMs() - before.notBeforeMs) / 1000;
      metrics.observe(metricNames.rotationAge, seconds);
    }
  }

  /** Stops waiting after a quarter of an hour, or when the subject has changed meanwhile. */
  async #whileWanted<T>(
    ordered: CertificateTemplate,
    signal: AbortSignal,
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const done = new AbortController();
    const stop = new AbortController();
    const watch = async (): Promise<void> => {
      const until = AbortSignal.any([signal, done.signal]);
      for (let waitedMs = 0; waitedMs < orderMs; waitedMs += templateMs) {
        await this.#deps.clock.sleep(templateMs, until);
        if (deepEqual(this.#deps.subject.template ?? ordered, ordered)) continue;
        stop.abort(new Error("the node's addresses changed while the request was open"));
        return;
      }
      stop.abort(new Error("the request was neither approved nor denied in time"));
    };
    const watching = watch().catch(() => undefined);
    try {
      return await wait(AbortSignal.any([signal, stop.signal]));
    } finally {
      done.abort();
      await watching;
    }
  }

  async #checkForever(signal: AbortSignal): Promise<void> {
    const { clock, profile, log } = this.#deps;
    const { giveUpMs } = profile;
    let lastValidMs = clock.nowMs();
    for (;;) {
      await clock.sleep(checkMs, signal);
      await this.#takeOver();
      this.#showLife();
      if (this.current() !== undefined) lastValidMs = clock.nowMs();
      if (giveUpMs === undefined || clock.nowMs() - lastValidMs <= giveUpMs) continue;
      if (this.#isServerHealthy) {
        throw new Error("there is no valid client certificate, although the API server answers");
      }
      log.error("there is no valid client certificate, and the API server does not answer");
    }
  }

  /** Takes a certificate that another process has put in the store. */
  async #takeOver(): Promise<void> {
    const before = this.#current;
    const stored = await this.#deps.store.read().catch(() => undefined);
    const isOther = stored !== undefined && stored.certPem !== before?.certPem;
    const isValid = stored !== undefined && this.#deps.clock.nowMs() < stored.notAfterMs;
    // A rotation that ended meanwhile has stored its own.
    if (isOther && isValid && this.#current === before) this.#adopt(stored);
  }

  #adopt(certificate: StoredCertificate): void {
    this.#current = certificate;
    this.#showLife();
    for (const listener of this.#listeners) listener(certificate);
  }

  #showLife(): void {
    const { metrics, profile, clock } = this.#deps;
    const certificate = this.current();
    const seconds =
      certificate === undefined
        ? Number.POSITIVE_INFINITY
        : Math.trunc((certificate.notAfterMs - clock.nowMs()) / 1000);
    metrics.set(profile.metricNames.ttl, seconds);
  }
}

const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const retryMs = 1000;

interface CertificateOrder {
  readonly csrPem: string;
  /** Undefined = a new one. With a name, a request of that name that exists already is used again. */
  readonly name?: string | undefined;
  readonly signerName: string;
  readonly usages: readonly string[];
}

/** A request that the API server has. */
interface PlacedOrder {
  readonly name: string;
  readonly uid: string;
}

/** Sends a request for a certificate to the API server. */
export async function placeOrder(
  api: ApiClient,
  { csrPem, name, signerName, usages }: CertificateOrder,
  signal: AbortSignal,
): Promise<PlacedOrder> {
  const body: CertificateSigningRequest = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: name === undefined ? { generateName: "csr-" } : { name },
    spec: { request: encodeBase64(csrPem), signerName, usages },
  };
  try {
    return placed(await api.send({ method: "POST", path, body }, signal));
  } catch (error) {
    if (name === undefined || !isApiStatus(error, 409)) throw error;
  }
  const there = await api.send<CertificateSigningRequest>(
    { method: "GET", path: `${path}/${encodeURIComponent(name)}` },
    signal,
  );
  if (there.spec.signerName !== signerName) {
    throw new Error(`the certificate signing request ${name} exists already, for another signer`);
  }
  return placed(there);
}

function placed({ metadata }: CertificateSigningRequest): PlacedOrder {
  return { name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
}

/** Waits until the certificate is issued, and returns it as PEM. Rejects when it is denied or failed. */
export async function awaitCertificate(
  api: ApiClient,
  order: PlacedOrder,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
): Promise<string> {
  const fieldSelector = `metadata.name=${order.name}`;
  for (;;) {
    try {
      const list = await api.send<CertificateSigningRequestList>(
        { method: "GET", path, query: { fieldSelector } },
        signal,
      );
      const [now] = list.items;
      if (now === undefined) throw new OrderError(`csr "${order.name}" was deleted`);
      const issued = issuedPem(now, order);
      if (issued !== undefined) return issued;
      const resourceVersion = list.metadata?.resourceVersion ?? "";
      const later = await watchOrder(api, order, { fieldSelector, resourceVersion }, signal);
      if (later !== undefined) return later;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof OrderError) throw error;
      log.debug("cannot see the certificate signing request", { error: errorText(error) });
      await clock.sleep(retryMs, signal);
    }
  }
}

class OrderError extends Error {}

/** Undefined when the watch ended before anything was decided. */
async function watchOrder(
  api: ApiClient,
  order: PlacedOrder,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const done = new AbortController();
  let outcome: { readonly pem: string } | { readonly error: unknown } | undefined;
  const watch = api.watch<CertificateSigningRequest>(
    { path, query },
    ({ type, object }) => {
      if (type === "BOOKMARK") return;
      try {
        if (type === "DELETED") throw new OrderError(`csr "${order.name}" was deleted`);
        const pem = issuedPem(object, order);
        if (pem !== undefined) outcome = { pem };
      } catch (error) {
        outcome = { error };
      }
      if (outcome !== undefined) done.abort();
    },
    AbortSignal.any([signal, done.signal]),
  );
  await watch.catch((error: unknown) => {
    if (outcome === undefined) throw error;
  });
  if (outcome === undefined) return undefined;
  if ("error" in outcome) throw outcome.error;
  return outcome.pem;
}

/** The certificate, once the request is approved and signed. */
function issuedPem(csr: CertificateSigningRequest, { name, uid }: PlacedOrder): string | undefined {
  if (csr.metadata?.uid !== uid) throw new OrderError(`csr "${name}" changed UIDs`);
  const { conditions = [], certificate = "" } = csr.status ?? {};
  for (const { type, reason = "", message = "" } of conditions) {
    if (type !== "Denied" && type !== "Failed") continue;
    const outcome = type === "Denied" ? "is denied" : "failed";
    throw new OrderError(
      `certificate signing request ${outcome}, reason: ${reason}, message: ${message}`,
    );
  }
  const isApproved = conditions.some(({ type }) => type === "Approved");
  if (!isApproved || certificate === "") return undefined;
  const bytes = decodeBase64(certificate);
  if (bytes === undefined)
    throw new OrderError(`csr "${name}" has a certificate that is not base64`);
  return decodeUtf8(bytes);
}
