import {
  type Agent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { request as httpsRequest } from "node:https";
import {
  abortError,
  StaleConnectionError,
  type Transport,
  type WireRequest,
  type WireResponse,
} from "./wire.ts";

/** HTTP/1.1: one connection per request, kept for the next one. */
export function http1Transport(agent: Agent): Transport {
  return {
    open: async (wire, signal) => responseOf(await openRequest(agent, wire, signal)),
    distrust: () => {
      for (const sockets of Object.values(agent.freeSockets)) {
        for (const socket of sockets ?? []) socket.destroy();
      }
    },
    close: () => agent.destroy(),
  };
}

function openRequest(
  agent: Agent,
  { method, url, headers, body }: WireRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const length = body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) };
    const options: RequestOptions = { method, headers: { ...headers, ...length }, agent };
    const request =
      url.protocol === "http:" ? httpRequest(url, options) : httpsRequest(url, options);
    const abandon = (): void => {
      request.destroy(abortError(signal));
    };
    signal.addEventListener("abort", abandon, { once: true });
    request.on("response", resolve);
    request.on("error", (error: NodeJS.ErrnoException) => {
      if (signal.aborted) reject(signal.reason);
      else if (request.reusedSocket && error.code === "ECONNRESET") {
        reject(new StaleConnectionError(error.message, true, { cause: error }));
      } else reject(error);
    });
    request.on("close", () => signal.removeEventListener("abort", abandon));
    request.end(body);
  });
}

function responseOf(message: IncomingMessage): WireResponse {
  return {
    status: message.statusCode ?? 0,
    retryAfter: message.headers["retry-after"],
    body: message,
    isWhole: () => message.complete,
  };
}
