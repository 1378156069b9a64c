// /exec and /attach: the client's upgrade is handed on to the runtime's streaming server, byte for byte.
import { type IncomingMessage, STATUS_CODES, request as sendRequest } from "node:http";
import type { Duplex } from "node:stream";
import type { AgentView, AttachOptions, ExecOptions } from "../ports/agent-view.ts";
import { chooseContainer } from "./choose-container.ts";
import { HttpError, statusOf, toHttpError } from "./http-error.ts";
import { findPod } from "./pod-routes.ts";
import { readFlag } from "./query.ts";
import { type Route, route } from "./router.ts";

/** A request to change the protocol, with the raw connection it came over. */
export interface UpgradeExchange {
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What the client already sent beyond its request. */
  readonly head: Buffer;
  readonly signal: AbortSignal;
}

/** Credentials are for this server only, and the runtime's own checks see no foreign origin. */
const keptFromRuntime = new Set(["authorization", "origin", "cookie", "host"]);
const handshakeTimeoutMs = 30_000;

export function execRoutes(view: AgentView): readonly Route<UpgradeExchange>[] {
  return [
    route(
      ["GET", "POST"],
      "/api/v1/namespaces/{namespace}/pods/{name}/exec",
      async ({ namespace, name }, exchange: UpgradeExchange) => {
        const pod = findPod(view, namespace, name);
        const options = readExecOptions(exchange.query, chooseContainer(pod, exchange.query));
        const url = await view.execUrl(pod, options, exchange.signal);
        await forwardUpgrade(url, exchange);
      },
    ),
    route(
      ["GET", "POST"],
      "/api/v1/namespaces/{namespace}/pods/{name}/attach",
      async ({ namespace, name }, exchange: UpgradeExchange) => {
        const pod = findPod(view, namespace, name);
        const options = readStreams(exchange.query, chooseContainer(pod, exchange.query));
        const url = await view.attachUrl(pod, options, exchange.signal);
        await forwardUpgrade(url, exchange);
      },
    ),
  ];
}

function readExecOptions(query: URLSearchParams, container: string): ExecOptions {
  const command = query.getAll("command");
  if (command.length === 0) throw new HttpError("BadRequest", "you must specify a command");
  return { ...readStreams(query, container), command };
}

function readStreams(query: URLSearchParams, container: string): AttachOptions {
  const options = {
    container,
    stdin: readFlag(query, "stdin"),
    stdout: readFlag(query, "stdout"),
    stderr: readFlag(query, "stderr"),
    tty: readFlag(query, "tty"),
  };
  if (!options.stdin && !options.stdout && !options.stderr) {
    throw new HttpError("BadRequest", "you must specify at least 1 of stdin, stdout, stderr");
  }
  return options;
}

/** Resolves once both directions flow; from then on either end closing closes the other. */
async function forwardUpgrade(url: URL, exchange: UpgradeExchange): Promise<void> {
  if (url.protocol !== "http:" || !isLoopback(url.hostname)) {
    throw new HttpError("InternalError", "the runtime's streaming address is not on this machine");
  }
  const { request, socket, head } = exchange;
  const { answer, connection, rest } = await upgradeRuntime(url, exchange);
  connection.on("error", () => socket.destroy());
  socket.on("error", () => connection.destroy());
  connection.on("close", () => socket.destroy());
  socket.on("close", () => connection.destroy());
  if (socket.destroyed) {
    connection.destroy();
    return;
  }
  request.socket.setTimeout(0);
  socket.write(`HTTP/1.1 101 ${STATUS_CODES[101]}\r\n${headerLines(answer.rawHeaders)}\r\n`);
  socket.write(rest);
  connection.write(head);
  connection.pipe(socket);
  socket.pipe(connection);
}

interface UpgradedRuntime {
  readonly answer: IncomingMessage;
  readonly connection: Duplex;
  readonly rest: Buffer;
}

function upgradeRuntime(url: URL, { request, signal }: UpgradeExchange): Promise<UpgradedRuntime> {
  return new Promise((resolve, reject) => {
    const outgoing = sendRequest({
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port,
      method: request.method,
      path: `${url.pathname}${url.search}`,
      headers: forwardedHeaders(request, url),
      agent: false,
      signal,
      timeout: handshakeTimeoutMs,
    });
    const refuse = (message: string): void => {
      outgoing.destroy();
      reject(new HttpError("InternalError", message));
    };
    outgoing.on("upgrade", (answer, connection, rest) => {
      connection.setTimeout(0);
      resolve({ answer, connection, rest });
    });
    // Anything but 101 ends here, a redirect most of all; what the other side says is not passed on.
    outgoing.on("response", (answer) =>
      refuse(`the runtime refused to upgrade the connection: HTTP ${answer.statusCode}`),
    );
    outgoing.on("timeout", () => refuse("the runtime did not answer the request to upgrade"));
    outgoing.on("error", (error) =>
      refuse(`the runtime's streaming server failed: ${error.message}`),
    );
    outgoing.end();
  });
}

function forwardedHeaders(request: IncomingMessage, url: URL): string[] {
  const headers = ["Host", url.host];
  const { rawHeaders } = request;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (!keptFromRuntime.has(name.toLowerCase())) headers.push(name, rawHeaders[index + 1] ?? "");
  }
  return headers;
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

/** Answers an upgrade that is not granted, and closes the connection. */
export function refuseUpgrade(socket: Duplex, error: unknown): void {
  const refusal = toHttpError(error);
  const body = `${JSON.stringify(statusOf(refusal))}\n`;
  socket.end(
    `HTTP/1.1 ${refusal.code} ${STATUS_CODES[refusal.code]}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}
