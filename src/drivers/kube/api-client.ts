import { DeadlineError, withDeadline } from "../../lib/deadline.ts";
import { errorText } from "../../lib/error-text.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import { sleep, startTimer } from "../../lib/timers.ts";
import { trimEndOf } from "../../lib/trim-text.ts";
import { ApiError } from "../../model/api-error.ts";
import type { WatchEvent } from "../../model/watch-event.ts";
import type { ApiClient, ApiRequest } from "../../ports/api-client.ts";
import type { Metrics } from "../../ports/metrics.ts";
import { answerError } from "./api-status.ts";
import type { ApiEndpoint, ConnectionPool, PoolUse } from "./connection-pool.ts";
import type { Identity, IdentitySource } from "./identity.ts";
import { readBody } from "./read-body.ts";
import { readWatch } from "./read-watch.ts";
import { RequestGate, type RequestRate } from "./request-rate.ts";
import { StaleConnectionError, type WireRequest, type WireResponse } from "./wire.ts";

const maxTries = 10;
const maxStaleTries = 3;
const watchSeconds = 300;
const watchGraceSeconds = 30;

const patchTypes = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
} as const;

export interface ApiClientOptions {
  readonly endpoint: ApiEndpoint;
  readonly pool: ConnectionPool;
  readonly identity: IdentitySource;
  readonly userAgent: string;
  /** No limit when undefined. */
  readonly rate?: RequestRate | undefined;
  /** How long one request may take; a watch, until the server begins to answer. */
  readonly timeoutMs: number;
  readonly metrics: Metrics;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly retryAfterSeconds: number | undefined;
  readonly identity: Identity;
}

/** A client of one API server, over HTTP/1.1 and in JSON. Redirects are not followed. */
export function createApiClient(options: ApiClientOptions): ApiClient {
  const client = new HttpApiClient(options);
  return {
    // The one place where the shape of an answer is taken on trust: the API server's types are the generated ones.
    send: async <T>(request: ApiRequest, signal: AbortSignal) =>
      parseAnswer(await client.send(request, signal)) as T,
    watch: (request, onEvent, signal) => client.watch(request, onEvent, signal),
  };
}

function parseAnswer(body: string): unknown {
  try {
    const value: unknown = parseJsonText(body);
    return value;
  } catch {
    // Node's own words quote the text, which may be a secret.
    throw new Error("the API server's answer is not JSON");
  }
}

function nameOf({ method, url: { origin, pathname } }: WireRequest): string {
  return `${method} ${origin}${pathname}`;
}

class HttpApiClient {
  readonly #options: ApiClientOptions;
  readonly #gate: RequestGate | undefined;

  constructor(options: ApiClientOptions) {
    this.#options = options;
    this.#gate = options.rate === undefined ? undefined : new RequestGate(options.rate);
  }

  async send(request: ApiRequest, signal: AbortSignal): Promise<string> {
    const wire = this.#wireRequest(request);
    let hasRefreshed = false;
    for (let tries = 1; ; tries++) {
      await this.#pass(wire, signal);
      const answer = await this.#timed(wire, signal, () => this.#ask(wire, signal));
      this.#measure(wire, answer);
      if (answer.status >= 200 && answer.status < 300) return answer.body;
      if (answer.status === 401 && !hasRefreshed) {
        hasRefreshed = true;
        if (await this.#options.identity.refresh(answer.identity, signal)) continue;
      }
      if (!mayAskAgain(answer) || tries === maxTries) {
        throw answerError(answer.status, answer.body, answer.retryAfterSeconds);
      }
      this.#count("rest_client_request_retries_total", wire, String(answer.status));
      await sleep((answer.retryAfterSeconds ?? 0) * 1000, signal);
    }
  }

  async watch<T>(
    request: Pick<ApiRequest, "path" | "query">,
    onEvent: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const timeoutSeconds =
      request.query?.["timeoutSeconds"] ??
      String(watchSeconds + Math.floor(Math.random() * watchSeconds));
    const query = { ...request.query, watch: "true", timeoutSeconds };
    const wire = this.#wireRequest({ method: "GET", path: request.path, query });
    await this.#pass(wire, signal);
    const identity = await this.#options.identity.current(signal);
    // The server ends a watch by itself; one that outlasts its time hangs on a connection that leads nowhere.
    const limitMs = (Number(timeoutSeconds) + watchGraceSeconds) * 1000;
    await withDeadline({ startTimer }, { ms: limitMs, what: nameOf(wire) }, signal, (bounded) =>
      this.#exchange(wire, identity, bounded, async (response, use) => {
        const { status } = response;
        if (status === 200)
          return readWatch(response, onEvent, { ended: use.replaced, signal: bounded });
        const body = await readBody(response, bounded);
        if (status === 401) await this.#options.identity.refresh(identity, bounded);
        throw answerError(status, body, retryAfterSeconds(response));
      }),
    );
  }

  async #pass(wire: WireRequest, signal: AbortSignal): Promise<void> {
    if (this.#gate === undefined) return;
    const startMs = performance.now();
    await this.#gate.pass(signal);
    const seconds = (performance.now() - startMs) / 1000;
    const labels = { verb: wire.method, host: wire.url.host };
    this.#options.metrics.observe("rest_client_rate_limiter_duration_seconds", seconds, labels);
  }

  async #timed(
    wire: WireRequest,
    signal: AbortSignal,
    ask: () => Promise<Answer>,
  ): Promise<Answer> {
    const startMs = performance.now();
    try {
      return await ask();
    } finally {
      if (!signal.aborted) {
        const seconds = (performance.now() - startMs) / 1000;
        const labels = { verb: wire.method, host: wire.url.host };
        this.#options.metrics.observe("rest_client_request_duration_seconds", seconds, labels);
      }
    }
  }

  #measure(wire: WireRequest, { body }: Answer): void {
    const { metrics } = this.#options;
    const labels = { verb: wire.method, host: wire.url.host };
    const sentBytes = Buffer.byteLength(wire.body ?? "");
    metrics.observe("rest_client_request_size_bytes", sentBytes, labels);
    metrics.observe("rest_client_response_size_bytes", Buffer.byteLength(body), labels);
  }

  #ask(wire: WireRequest, signal: AbortSignal): Promise<Answer> {
    return withDeadline({ startTimer }, this.#limit(wire), signal, async (bounded) => {
      const identity = await this.#options.identity.current(bounded);
      return this.#exchange(wire, identity, bounded, async (response) => ({
        status: response.status,
        body: await readBody(response, bounded),
        retryAfterSeconds: retryAfterSeconds(response),
        identity,
      }));
    });
  }

  /** One request and what `read` makes of its answer; retries when the server had just closed the connection. */
  async #exchange<T>(
    wire: WireRequest,
    identity: Identity,
    signal: AbortSignal,
    read: (response: WireResponse, use: PoolUse) => Promise<T>,
  ): Promise<T> {
    const full = { ...wire, headers: { ...wire.headers, ...identity.headers } };
    for (let tries = 1; ; tries++) {
      const use = this.#options.pool.use(identity.pair);
      try {
        return await this.#exchangeOnce(full, use, signal, read);
      } catch (error) {
        if (tries === maxStaleTries || !mayRepeat(error, wire)) {
          throw this.#explain(error, wire, signal);
        }
        this.#options.pool.distrust();
      } finally {
        use.release();
      }
    }
  }

  #exchangeOnce<T>(
    wire: WireRequest,
    use: PoolUse,
    signal: AbortSignal,
    read: (response: WireResponse, use: PoolUse) => Promise<T>,
  ): Promise<T> {
    return withDeadline(
      { startTimer },
      this.#limit(wire),
      signal,
      async (bounded, cancelDeadline) => {
        const response = await use.transport.open(wire, bounded);
        cancelDeadline();
        this.#count("rest_client_requests_total", wire, String(response.status));
        return await read(response, use);
      },
    );
  }

  /** What went wrong, named by the request; what the server itself said and an abort stay as they are. */
  #explain(error: unknown, wire: WireRequest, signal: AbortSignal): unknown {
    const isAbort = signal.aborted && error === signal.reason && !(error instanceof DeadlineError);
    if (error instanceof ApiError || isAbort) return error;
    this.#options.pool.distrust();
    this.#count("rest_client_requests_total", wire, "<error>");
    if (error instanceof DeadlineError) return error;
    return new Error(`${nameOf(wire)}: ${errorText(error)}`, { cause: error });
  }

  #limit(wire: WireRequest): { readonly ms: number; readonly what: string } {
    return { ms: this.#options.timeoutMs, what: nameOf(wire) };
  }

  #count(
    name: "rest_client_requests_total" | "rest_client_request_retries_total",
    { method, url }: WireRequest,
    code: string,
  ): void {
    const kind = name === "rest_client_requests_total" ? "method" : "verb";
    this.#options.metrics.increment(name, { code, [kind]: method, host: url.host });
  }

  #wireRequest(request: ApiRequest): WireRequest {
    const { endpoint, userAgent } = this.#options;
    const url = new URL(endpoint.url);
    url.pathname = `${trimEndOf(url.pathname, "/")}${request.path}`;
    url.search = new URLSearchParams(request.query).toString();
    const hasBody = request.body !== undefined;
    return {
      method: request.method,
      url,
      headers: {
        Accept: "application/json",
        "User-Agent": userAgent,
        ...(hasBody ? { "Content-Type": contentType(request) } : {}),
      },
      ...(hasBody ? { body: JSON.stringify(request.body) } : {}),
    };
  }
}

function contentType({ method, patchType }: ApiRequest): string {
  return method === "PATCH" ? patchTypes[patchType ?? "strategic"] : "application/json";
}

function retryAfterSeconds({ retryAfter: text }: WireResponse): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Whether the same request may go over another connection: it was not seen, or it does no harm to do it twice. */
function mayRepeat(error: unknown, { method }: WireRequest): boolean {
  return error instanceof StaleConnectionError && (method !== "POST" || !error.wasSeen);
}

function mayAskAgain({ status, retryAfterSeconds: seconds }: Answer): boolean {
  return seconds !== undefined && (status === 429 || status >= 500);
}
