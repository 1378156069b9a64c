import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, isIP, type LookupFunction } from "node:net";
import { quoteText } from "../../lib/go-text.ts";
import { startTimer } from "../../lib/timers.ts";
import { noLongerNeeded } from "../../lib/with-either.ts";
import type { ProbeOutcome } from "../../ports/probe-runner.ts";
import type { HttpGetRequest } from "./http-get-request.ts";
import { networkErrorText } from "./network-error-text.ts";

export const maxBodyBytes: number = 10 * 1024;
/** A kubelet takes more; but many answers may come at once, and no health check needs that. */
const maxHeaderBytes = 128 * 1024;
const maxRequests = 10;
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export interface Answer {
  readonly status: number;
  readonly location: string | undefined;
  /** Undefined = the server does not say. */
  readonly length: number | undefined;
  /** The first 10 KiB; then it hangs up. */
  readonly readBody: () => Promise<string>;
  /** Hangs up without reading the body. */
  readonly discard: () => void;
}

export interface HttpProbeTarget {
  readonly request: HttpGetRequest;
  readonly lookup: LookupOf;
}

/** How names are resolved until a signal aborts. */
export type LookupOf = (signal: AbortSignal) => LookupFunction;

/** Asks, and follows redirects that stay on the same host. Rejects only when `signal` aborts. */
export async function runHttpProbe(
  target: HttpProbeTarget,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  signal.throwIfAborted();
  // A timer that is cleared, not a signal with a timeout: that would go off after every probe that was in time.
  const end = new AbortController();
  const timer = startTimer(timeoutMs, () => end.abort(noLongerNeeded));
  const stop = (): void => end.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await followRedirects(target, { stopped: signal, end: end.signal });
  } finally {
    timer.stop();
    signal.removeEventListener("abort", stop);
  }
}

interface ProbeSignals {
  /** The result is no longer wanted. */
  readonly stopped: AbortSignal;
  /** That, or the probe's time has passed. */
  readonly end: AbortSignal;
}

async function followRedirects(
  { request, lookup }: HttpProbeTarget,
  { stopped, end }: ProbeSignals,
): Promise<ProbeOutcome> {
  let current = request;
  for (let requests = 1; ; requests++) {
    const failure = (text: string): ProbeOutcome => ({
      result: "failure",
      output: `Get ${quoteText(current.url)}: ${text}`,
    });
    let answer: Answer;
    try {
      answer = await sendHttpGet(current, lookup(end), end);
    } catch (error) {
      stopped.throwIfAborted();
      if (!end.aborted) return failure(networkErrorText(error, current.urlHost));
      return failure("context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
    }
    const next = redirectTarget(current, answer);
    const decision =
      next === undefined ? "use last response" : decideRedirect(request, next, requests);
    if (next === undefined || decision === "use last response") {
      return await judgeAnswer(answer, { stopped, end });
    }
    answer.discard();
    if (decision === "too many") return failure(`stopped after ${maxRequests} redirects`);
    current = next;
  }
}

/** What to do with a redirect after `requests` requests that began at `from`. */
export function decideRedirect(
  from: { readonly hostname: string },
  to: { readonly hostname: string },
  requests: number,
): "follow" | "use last response" | "too many" {
  // A container must not make the node ask other hosts.
  if (from.hostname !== to.hostname) return "use last response";
  return requests >= maxRequests ? "too many" : "follow";
}

/** What an answer says about the container. */
export function judgeResponse(status: number, body: string): ProbeOutcome {
  if (status >= 200 && status < 300) return { result: "success", output: body };
  if (status >= 300 && status < 400) {
    return { result: "warning", output: `Probe terminated redirects, Response body: ${body}` };
  }
  // The body is left out on purpose: everybody who may read events would see it.
  return { result: "failure", output: `HTTP probe failed with statuscode: ${status}` };
}

async function judgeAnswer(
  { status, readBody }: Answer,
  { stopped, end }: ProbeSignals,
): Promise<ProbeOutcome> {
  try {
    return judgeResponse(status, await readBody());
  } catch {
    stopped.throwIfAborted();
    const output = end.aborted
      ? "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
      : "unexpected EOF";
    return { result: "error", state: "failure", output };
  }
}

function redirectTarget(
  request: HttpGetRequest,
  { status, location }: Answer,
): HttpGetRequest | undefined {
  if (!redirectStatuses.has(status) || location === undefined) return undefined;
  if (!URL.canParse(location, request.url)) return undefined;
  const url = new URL(location, request.url);
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const scheme = url.protocol.slice(0, -1);
  return {
    ...request,
    scheme,
    hostname,
    port: Number(url.port) || (scheme === "https" ? 443 : 80),
    url: url.href,
    urlHost: url.host,
    requestUri: `${url.pathname}${url.search}`,
    // A Host header of the probe's own goes along only where the redirect names no host.
    hostHeader: URL.canParse(location) ? "" : request.hostHeader,
  };
}

/** One request, no redirect followed. Rejects when there is no answer. */
export function sendHttpGet(
  request: HttpGetRequest,
  lookup: LookupFunction,
  signal: AbortSignal,
): Promise<Answer> {
  const options: RequestOptions & {
    readonly servername: string;
    readonly rejectUnauthorized: false;
  } = {
    host: request.hostname,
    port: request.port,
    lookup,
    path: request.requestUri,
    headers: sentHeaders(request),
    setHost: false,
    maxHeaderSize: maxHeaderBytes,
    servername: isIP(request.hostname) === 0 ? request.hostname : "",
    // A probe checks that a server answers, not its identity: containers use certificates of their own.
    rejectUnauthorized: false,
  };
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const sent =
      request.scheme === "https"
        ? httpsRequest({ ...options, agent: false })
        : plainRequest(options, request);
    const cancel = (): void => void sent.destroy(noLongerNeeded);
    signal.addEventListener("abort", cancel, { once: true });
    sent.on("close", () => signal.removeEventListener("abort", cancel));
    sent.on("error", reject);
    sent.on("response", (response) => resolve(answerOf(response)));
    sent.on("upgrade", (response, socket) => {
      socket.destroy();
      resolve({ ...answerOf(response), location: undefined, readBody: emptyBody });
    });
    sent.end();
  });
}

/** Without an agent of connections, whose making would be a good part of the work. */
function plainRequest(options: RequestOptions, { hostname, port }: HttpGetRequest): ClientRequest {
  const { lookup } = options;
  const createConnection = () => connect({ host: hostname, port, lookup });
  return httpRequest({ ...options, createConnection });
}

function answerOf(response: IncomingMessage): Answer {
  const length = Number(response.headers["content-length"] ?? Number.NaN);
  // An aborted answer must not end the process; the reader of the body gets the error.
  response.on("error", () => undefined);
  return {
    status: response.statusCode ?? 0,
    location: response.headers.location,
    length: Number.isNaN(length) ? undefined : length,
    readBody: () => readStart(response),
    discard: () => response.destroy(),
  };
}

function emptyBody(): Promise<string> {
  return Promise.resolve("");
}

function readStart(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (): void => resolve(Buffer.concat(chunks).subarray(0, maxBodyBytes).toString());
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size < maxBodyBytes) return;
      finish();
      response.destroy();
    });
    response.on("end", finish);
    response.on("error", reject);
    response.on("close", () => reject(new Error("unexpected EOF")));
  });
}

/** Only the first User-Agent is sent, and an empty one not at all. */
function sentHeaders({ headers, hostHeader, urlHost }: HttpGetRequest): Record<string, string[]> {
  const sent: Record<string, string[]> = {};
  for (const [name, values] of headers) sent[name] = [...values];
  const userAgent = sent["User-Agent"]?.[0] ?? "";
  if (userAgent === "") delete sent["User-Agent"];
  else sent["User-Agent"] = [userAgent];
  sent["Host"] = [hostHeader || urlHost];
  return sent;
}
