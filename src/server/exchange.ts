import type { IncomingMessage, ServerResponse } from "node:http";
import { type HttpError, statusOf } from "./http-error.ts";
import { untilDrained } from "./until-drained.ts";

/** One request and its answer. */
export interface Exchange {
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborts when the client goes away or the server stops. */
  readonly signal: AbortSignal;
}

export function sendJson(response: ServerResponse, body: unknown, code = 200): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(code, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(text),
  });
  response.end(text);
}

export function sendText(response: ServerResponse, text: string): void {
  response.writeHead(200, {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
  });
  response.end(text);
}

/** As fast as the client reads them. */
export async function sendLines(
  response: ServerResponse,
  lines: Iterable<string>,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(200, { "Content-Type": "application/jsonl" });
  for (const line of lines) {
    if (signal.aborted) return;
    response.write(`${line}\n`);
    await untilDrained(response);
  }
  response.end();
}

/** Sends the refusal; once a response has begun it can only be aborted. */
export function sendError(response: ServerResponse, error: HttpError): void {
  if (response.headersSent) response.destroy();
  else sendJson(response, statusOf(error), error.code);
}
