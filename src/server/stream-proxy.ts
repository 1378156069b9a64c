// A client's upgrade is handed on to the runtime's streaming server, byte for byte.
import { type IncomingMessage, STATUS_CODES, request as sendRequest } from "node:http";
import type { Duplex } from "node:stream";
import { startTimer } from "../lib/timers.ts";

/** A request to change the protocol, with the raw connection it came over. */
export interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What the client already sent beyond its request. */
  readonly head: Buffer;
  readonly signal: AbortSignal;
}

/** The runtime's streaming server does not take the connection. */
export class UpgradeRefused extends Error {
  /** What to answer the client with. */
  readonly status: number;

  constructor(message: string, status = 500) {
    super(message);
    this.status = status;
  }
}

/** Credentials are for this server only, and the runtime's own checks see no foreign origin. */
const keptFromRuntime = new Set([
  "authorization",
  "origin",
  "cookie",
  "host",
  "content-length",
  "transfer-encoding",
]);
const bearerProtocol = /^base64url\.bearer\.authorization\.k8s\.io\./;
const handshakeTimeoutMs = 30_000;
/** How long a reader has for the last bytes. */
const lastBytesMs = 10_000;

/**
 * Resolves once both directions flow; from then on either end closing closes the other, and so does `idleMs` without
 * a byte. Rejects with an UpgradeRefused while the client can still be answered.
 */
export async function forwardUpgrade(
  url: URL,
  upgrade: UpgradeRequest,
  { idleMs, onUpgrade }: { readonly idleMs: number; readonly onUpgrade?: () => void },
): Promise<void> {
  const { request, socket, head, signal } = upgrade;
  const { method } = request;
  const asked = { method, headers: forwardedHeaders(request) };
  const { answer, connection, rest } = await dialRuntime(url, asked, signal);
  connection.on("error", () => socket.destroy());
  socket.on("error", () => connection.destroy());
  connection.on("close", () => closeWritten(socket));
  socket.on("close", () => closeWritten(connection));
  if (socket.destroyed) {
    connection.destroy();
    return;
  }
  onUpgrade?.();
  request.socket.setTimeout(idleMs, () => socket.destroy());
  socket.write(`HTTP/1.1 101 ${STATUS_CODES[101]}\r\n${headerLines(answer.rawHeaders)}\r\n`);
  socket.write(rest);
  connection.write(head);
  connection.pipe(socket);
  socket.pipe(connection);
}

/** Closes a connection once pending bytes are written, or after a while: not every reader keeps reading. */
function closeWritten(stream: Duplex): void {
  if (stream.destroyed || stream.writableFinished) {
    stream.destroy();
    return;
  }
  const patience = startTimer(lastBytesMs, () => stream.destroy());
  stream.on("close", () => patience.stop());
  stream.on("finish", () => stream.destroy());
  stream.end();
}

interface UpgradedRuntime {
  readonly answer: IncomingMessage;
  readonly connection: Duplex;
  readonly rest: Buffer;
}

interface UpgradeHeaders {
  readonly method: string | undefined;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

/** Asks the runtime's streaming server for another protocol; rejects with an UpgradeRefused. */
export function dialRuntime(
  url: URL,
  { method, headers }: UpgradeHeaders,
  signal: AbortSignal,
): Promise<UpgradedRuntime> {
  return new Promise((resolve, reject) => {
    if (url.protocol !== "http:" || !isLoopback(url.hostname)) {
      throw new UpgradeRefused("the runtime's streaming address is not on this machine");
    }
    const outgoing = sendRequest({
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port,
      method,
      path: `${url.pathname}${url.search}`,
      // Without a length a POST would be sent with the end of a body, which the other protocol does not expect.
      headers: ["Host", url.host, "Content-Length", "0", ...headers],
      agent: false,
      signal,
      timeout: handshakeTimeoutMs,
    });
    const refuse = (message: string, status?: number): void => {
      outgoing.destroy();
      reject(new UpgradeRefused(message, status));
    };
    outgoing.on("upgrade", (answer, connection, rest) => {
      connection.setTimeout(0);
      resolve({ answer, connection, rest });
    });
    // Anything but 101 ends here, a redirect most of all; what the other side says is not passed on.
    outgoing.on("response", ({ statusCode = 0 }) =>
      refuse(
        `the runtime refused to upgrade the connection: HTTP ${statusCode}`,
        statusCode >= 400 ? statusCode : undefined,
      ),
    );
    outgoing.on("timeout", () => refuse("the runtime did not answer the request to upgrade"));
    outgoing.on("error", (error) =>
      refuse(`the runtime's streaming server failed: ${error.message}`),
    );
    outgoing.end();
  });
}

function forwardedHeaders({ rawHeaders }: IncomingMessage): string[] {
  const headers: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    const value = rawHeaders[index + 1] ?? "";
    if (keptFromRuntime.has(name.toLowerCase())) continue;
    headers.push(name, name.toLowerCase() === "sec-websocket-protocol" ? tokenless(value) : value);
  }
  return headers;
}

/** A list of protocols without the one that carries a token. */
function tokenless(protocols: string): string {
  const kept = protocols.split(",").filter((protocol) => !bearerProtocol.test(protocol.trim()));
  return kept.join(",").trim();
}

function isLoopback(hostname: string): boolean {
  return hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function headerLines(rawHeaders: readonly string[]): string {
  let lines = "";
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    lines += `${rawHeaders[index]}: ${rawHeaders[index + 1]}\r\n`;
  }
  return lines;
}
