import { hasSubject, rotationTimeMs } from "../../core/certificate/rotation.ts";
import { Backoff } from "../../lib/backoff.ts";
import { deepEqual } from "../../lib/deep-equal.ts";
import { errorText } from "../../lib/error-text.ts";
import { isApiStatus } from "../../model/api-error.ts";
import type { CertificateTemplate, StoredCertificate } from "../../model/certificate.ts";
import type { MetricName } from "../../model/generated/metrics.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { CertificateRequests, CertificateStore } from "../../ports/certificate-store.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import { awaitCertificate, placeOrder } from "./request-certificate.ts";

const orderMs = 15 * 60_000;
const checkMs = 10_000;
const templateMs = 1000;
const backoffLimits = { initialMs: 2_000, maxMs: 32_000 };
const backoffTries = 5;
const lateRetryMs = 32_000;

export interface CertificateManagerDeps {
  readonly store: CertificateStore;
  readonly requests: CertificateRequests;
  /** The client to ask for certificates with, by whether there is a certificate that is valid now. */
  readonly api: (hasCertificate: boolean) => ApiClient;
  /** Whom the certificate is to be for; undefined as long as that is not known. */
  readonly template: () => CertificateTemplate | undefined;
  readonly signerName: string;
  readonly usages: readonly string[];
  /** What to begin with where the store has none; it is replaced at once. */
  readonly initial?: KeyPair | undefined;
  /** Give up when there has been no valid certificate for so long although the API server answers. */
  readonly giveUpMs?: number | undefined;
  readonly metricNames: {
    readonly ttl: MetricName;
    readonly renewErrors?: MetricName | undefined;
    readonly rotationAge?: MetricName | undefined;
  };
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Between 0 and 1. */
  readonly random: () => number;
}

/** Keeps one certificate valid: asks for the next one in time, and takes over what others put in its place. */
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

  /** Calls back whenever there is another certificate. */
  onChange(listener: (pair: KeyPair) => void, signal: AbortSignal): void {
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => this.#listeners.delete(listener), { once: true });
  }

  /** Rotates until `signal` aborts; rejects when there is nothing left to ask with and a restart may help. */
  async run(signal: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const stopOnFailure = (error: unknown): void => {
      if (!either.aborted) failed.abort(error);
    };
    await Promise.all([
      this.#rotateForever(either).catch(stopOnFailure),
      this.#checkForever(either).catch(stopOnFailure),
    ]);
    if (failed.signal.aborted) throw failed.signal.reason;
  }

  async #rotateForever(signal: AbortSignal): Promise<void> {
    const { clock, template } = this.#deps;
    for (;;) {
      await this.#waitForTime(signal);
      if (template() !== undefined) await this.#rotateUntilDone(signal);
      // A signer that leaves out what was asked for is not asked again and again.
      const isLacking = this.#current !== undefined && !this.#fits();
      await clock.sleep(isLacking ? lateRetryMs : templateMs, signal);
    }
  }

  /** Resolves when the certificate is old enough, or when it is not for whom it should be any more. */
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
    const wanted = this.#deps.template();
    if (this.#current === undefined) return false;
    return wanted === undefined || hasSubject(this.#current.subject, wanted);
  }

  async #rotateUntilDone(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#deps;
    const backoff = new Backoff({ ...backoffLimits, jitter: { share: 0.1, random } });
    for (let tries = 1; !(await this.#rotate(signal)); tries++) {
      if (tries === backoffTries) log.error("still no new certificate after several attempts");
      await clock.sleep(tries < backoffTries ? backoff.nextMs() : lateRetryMs, signal);
    }
  }

  /** Whether there is a new certificate. */
  async #rotate(signal: AbortSignal): Promise<boolean> {
    const { log, metrics, metricNames, signerName } = this.#deps;
    try {
      await this.#orderAndStore(signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (metricNames.renewErrors !== undefined) metrics.increment(metricNames.renewErrors);
      log.warn("cannot get a certificate", { signer: signerName, error: errorText(error) });
      return false;
    }
  }

  async #orderAndStore(signal: AbortSignal): Promise<void> {
    const { requests, store, metrics, metricNames, clock, log, signerName, usages } = this.#deps;
    const template = this.#deps.template();
    if (template === undefined) throw new Error("it is not known yet whom it is to be for");
    const { csrPem, keyPem } = await requests.create(template);
    const api = this.#deps.api(this.current() !== undefined);
    const order = await placeOrder(api, { csrPem, signerName, usages }, signal).catch(
      (error: unknown) => {
        this.#isServerHealthy = [401, 403, 404].some((status) => isApiStatus(error, status));
        throw error;
      },
    );
    log.info("asked for a certificate", { request: order.name, signer: signerName });
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

  /** Stops waiting after a quarter of an hour, or when the certificate is to be for others meanwhile. */
  async #whileWanted<T>(
    ordered: CertificateTemplate,
    signal: AbortSignal,
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#deps;
    const done = new AbortController();
    const stop = new AbortController();
    const watch = async (): Promise<void> => {
      const until = AbortSignal.any([signal, done.signal]);
      for (let waitedMs = 0; waitedMs < orderMs; waitedMs += templateMs) {
        await clock.sleep(templateMs, until);
        if (deepEqual(this.#deps.template() ?? ordered, ordered)) continue;
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
    const { clock, giveUpMs, log } = this.#deps;
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

  /** Someone may have put another certificate in place. */
  async #takeOver(): Promise<void> {
    const before = this.#current;
    const stored = await this.#deps.store.read().catch(() => undefined);
    const isOther = stored !== undefined && stored.certPem !== before?.certPem;
    const isValid = stored !== undefined && this.#deps.clock.nowMs() < stored.notAfterMs;
    // A rotation that ended meanwhile has put its own there.
    if (isOther && isValid && this.#current === before) this.#adopt(stored);
  }

  #adopt(certificate: StoredCertificate): void {
    this.#current = certificate;
    this.#showLife();
    for (const listener of this.#listeners) listener(certificate);
  }

  #showLife(): void {
    const { metrics, metricNames, clock } = this.#deps;
    const certificate = this.current();
    const seconds =
      certificate === undefined
        ? Number.POSITIVE_INFINITY
        : Math.trunc((certificate.notAfterMs - clock.nowMs()) / 1000);
    metrics.set(metricNames.ttl, seconds);
  }
}
