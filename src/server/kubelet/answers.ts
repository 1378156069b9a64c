// The forms that answers of the kubelet's API have.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { QueryValues } from "./stream-options.ts";

/** One request to an endpoint and its answer. */
export interface KubeletExchange {
  readonly parameters: Readonly<Record<string, string>>;
  /** Decoded. */
  readonly path: string;
  readonly query: QueryValues;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Present when the client asks for another protocol. */
  readonly upgrade?: { readonly socket: Duplex; readonly head: Buffer } | undefined;
  /** Aborts when the client goes away or the server stops. */
  readonly signal: AbortSignal;
}

export type KubeletHandler = (exchange: KubeletExchange) => Promise<void> | void;

const plain = "text/plain; charset=utf-8";

/** Sends a text as it is. Once a response has begun, it can only be aborted. */
export function sendPlain(
  response: ServerResponse,
  status: number,
  text: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, {
    "Content-Type": plain,
    "Content-Length": lengthOf(text),
    ...headers,
  });
  response.end(text);
}

function lengthOf(text: string | Uint8Array): number {
  return typeof text === "string" ? Buffer.byteLength(text) : text.byteLength;
}

/** A refusal in a line of its own, which no browser takes for anything but text. */
export function sendRefusal(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  sendPlain(response, status, `${message}\n`, { "X-Content-Type-Options": "nosniff", ...headers });
}

/** Text that is JSON already. */
export function sendJsonText(
  response: ServerResponse,
  text: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(200, {
    "Content-Type": "application/json",
    "Content-Length": lengthOf(text),
    ...headers,
  });
  response.end(text);
}

/** Somewhere else on this server; readers get a link. */
export function sendRedirect(
  { method }: IncomingMessage,
  response: ServerResponse,
  location: string,
  status: 301 | 307,
): void {
  const words = { 301: "Moved Permanently", 307: "Temporary Redirect" } as const;
  const isRead = method === "GET" || method === "HEAD";
  const text =
    method === "GET" ? `<a href="${escapeHtml(location)}">${words[status]}</a>.\n\n` : "";
  response.writeHead(status, {
    Location: location,
    ...(isRead ? { "Content-Type": "text/html; charset=utf-8" } : {}),
    "Content-Length": Buffer.byteLength(text),
  });
  response.end(text);
}

const htmlEscapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => htmlEscapes[character] ?? character);
}
