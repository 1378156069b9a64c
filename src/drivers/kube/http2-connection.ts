import type { OutgoingHttpHeaders } from "node:http";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  sensitiveHeaders,
} from "node:http2";
import type { TLSSocket } from "node:tls";
import { startTimer } from "../../lib/timers.ts";
import { abortError, StaleConnectionError, type WireRequest, type WireResponse } from "./wire.ts";

// A connection that is silent for this long is pinged, and closed without an answer.
const pingMs = 30_000;
const pongMs = 15_000;
const maxIdleBeats = 2;
const usualStreams = 100;
const windowBytes = 1024 * 1024;
const maxMemoryMegabytes = 64;

/** One HTTP/2 connection, which carries many exchanges at once. */
export class Http2Connection {
  readonly #session: ClientHttp2Session;
  readonly #heartbeat: NodeJS.Timeout;
  #streams = 0;
  #opened = 0;
  #isSuspect = false;
  #isPinging = false;
  #idleBeats = 0;

  constructor(socket: TLSSocket, origin: string, onEnd: () => void) {
    this.#session = connectHttp2(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: windowBytes },
      maxSessionMemory: maxMemoryMegabytes,
    });
    this.#session.on("connect", () => this.#session.setLocalWindowSize(windowBytes));
    // Each exchange is notified by its own stream.
    this.#session.on("error", () => undefined);
    this.#session.on("goaway", onEnd);
    this.#heartbeat = setInterval(() => this.#beat(), pingMs);
    this.#heartbeat.unref();
    this.#session.on("close", () => {
      clearInterval(this.#heartbeat);
      onEnd();
    });
    this.#session.unref();
  }

  /** Whether it takes another exchange now. */
  get hasRoom(): boolean {
    if (this.#session.closed || this.#session.destroyed || this.#isSuspect) return false;
    return this.#streams < (this.#session.remoteSettings.maxConcurrentStreams ?? usualStreams);
  }

  get isIdle(): boolean {
    return this.#streams === 0;
  }

  /** Begins nothing new here until the server gives a sign of life. */
  distrust(): void {
    this.#isSuspect = true;
    this.#ping();
  }

  /** Ends it with all that it carries. */
  close(): void {
    this.#session.destroy();
  }

  open(wire: WireRequest, signal: AbortSignal): Promise<WireResponse> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const isFirst = this.#opened++ === 0;
      const stream = this.#begin(wire);
      this.#hold();
      const abandon = (): void => {
        stream.close(constants.NGHTTP2_CANCEL);
        stream.destroy(abortError(signal));
      };
      signal.addEventListener("abort", abandon, { once: true });
      let hasHead = false;
      stream.on("response", (headers) => {
        hasHead = true;
        resolve(responseOf(stream, headers));
      });
      const fail = (error: Error): void => {
        if (signal.aborted) reject(signal.reason);
        else if (isFirst) reject(error);
        else reject(new StaleConnectionError(error.message, !isRefused(stream), { cause: error }));
      };
      stream.on("error", (error) => {
        if (!hasHead) fail(error);
      });
      stream.on("close", () => {
        signal.removeEventListener("abort", abandon);
        this.#release();
        if (!hasHead) fail(new Error("the connection broke"));
      });
      if (wire.body !== undefined) stream.end(wire.body);
    });
  }

  #begin(wire: WireRequest): ClientHttp2Stream {
    try {
      return this.#session.request(headersOf(wire), { endStream: wire.body === undefined });
    } catch (error) {
      // The server has said goodbye a moment ago.
      throw new StaleConnectionError("the connection has ended", false, { cause: error });
    }
  }

  #beat(): void {
    this.#idleBeats = this.isIdle ? this.#idleBeats + 1 : 0;
    if (this.#idleBeats > maxIdleBeats) this.#session.close();
    else this.#ping();
  }

  #ping(): void {
    if (this.#isPinging || this.#session.closed || this.#session.destroyed) return;
    this.#isPinging = true;
    const giveUp = (): void => this.#session.destroy(new Error("the connection is dead"));
    const deadline = startTimer(pongMs, giveUp, { keepsAlive: false });
    this.#session.ping(() => {
      deadline.stop();
      this.#isPinging = false;
      this.#isSuspect = false;
    });
  }

  // Only what is under way keeps the process alive.
  #hold(): void {
    if (this.#streams++ === 0) this.#session.ref();
  }

  #release(): void {
    if (--this.#streams === 0 && !this.#session.destroyed) this.#session.unref();
  }
}

/** The server says that it has not processed it. */
function isRefused(stream: ClientHttp2Stream): boolean {
  return stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
}

function headersOf({ method, url, headers, body }: WireRequest): OutgoingHttpHeaders {
  const copied: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    copied[name.toLowerCase()] = typeof value === "string" ? value : [...value];
  }
  return {
    ...copied,
    ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
    [constants.HTTP2_HEADER_METHOD]: method,
    [constants.HTTP2_HEADER_PATH]: `${url.pathname}${url.search}`,
    [sensitiveHeaders]: ["authorization"],
  };
}

function responseOf(
  stream: ClientHttp2Stream,
  headers: Readonly<Record<string, unknown>>,
): WireResponse {
  const retryAfter = headers["retry-after"];
  return {
    status: Number(headers[constants.HTTP2_HEADER_STATUS]),
    retryAfter: typeof retryAfter === "string" ? retryAfter : undefined,
    body: stream,
    isWhole: () => stream.rstCode === constants.NGHTTP2_NO_ERROR,
  };
}
