import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { PoolUse } from "./connection-pool.ts";

// The largest list that a node asks for is far smaller.
const maxBodyBytes = 128 * 1024 * 1024;

export interface WireRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | undefined;
}

/** The connection was one that had been used before, and the server closed it at that very moment. */
export class StaleConnectionError extends Error {
  override readonly name = "StaleConnectionError";
}

/** Resolves with the head of the answer. The signal ends the exchange at any time, also while the body is read. */
export function openExchange(
  use: PoolUse,
  wire: WireRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const { body, url } = wire;
    const options: RequestOptions = {
      method: wire.method,
      headers: {
        ...wire.headers,
        ...(body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) }),
      },
      agent: use.agent,
    };
    const request =
      url.protocol === "http:" ? httpRequest(url, options) : httpsRequest(url, options);
    const abandon = (): void => {
      request.destroy(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    };
    signal.addEventListener("abort", abandon, { once: true });
    request.on("response", resolve);
    request.on("error", (error: NodeJS.ErrnoException) => {
      if (signal.aborted) reject(signal.reason);
      else if (request.reusedSocket && error.code === "ECONNRESET") {
        reject(new StaleConnectionError(error.message, { cause: error }));
      } else reject(error);
    });
    request.on("close", () => signal.removeEventListener("abort", abandon));
    request.end(body);
  });
}

/** The whole body as text. Rejects when the connection breaks in the middle of it. */
export async function readBody(response: IncomingMessage, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBodyBytes) throw new Error(`the answer is longer than ${maxBodyBytes} bytes`);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  return Buffer.concat(chunks).toString("utf8");
}
