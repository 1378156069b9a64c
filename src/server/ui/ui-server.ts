// The server of the page: who asks, by which name and from where, before anything is answered.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Log } from "../../ports/log.ts";
import { ConnectionTable } from "../connection-table.ts";
import { type Exchange, sendError } from "../exchange.ts";
import { HttpError, toHttpError } from "../http-error.ts";
import { requestSignal } from "../request-signal.ts";
import { RequestTurns } from "../request-turns.ts";
import { matchRoute, type Route } from "../router.ts";
import { closeServer, listenOn, refuseUnreadable, untilStopped } from "../tcp-server.ts";
import { requireHost, requireOwnPage, servedHosts } from "./check-request.ts";
import type { Logins, Session } from "./logins.ts";
import { TerminalDoor, type TerminalRequest } from "./terminal-door.ts";
import { dataRoutes, openRoutes, sendLogin } from "./ui-routes.ts";
import type { UiSettings } from "./ui-settings.ts";

/** Browsers send the cookies of every other port of the machine along. */
const maxHeaderBytes = 32 * 1024;
const maxHeaders = 100;
const maxTargetLength = 4096;
const maxBodyBytes = 1024;
const maxConnections = 256;
/** How long a connection without a request of a logged-in user may stay idle. */
const strangerIdleMs = 10_000;
const connectionLimits = { maxStrangers: 64, maxStrangersPerAddress: 64 };
const limits = {
  maxHeaderSize: maxHeaderBytes,
  keepAliveTimeout: 30_000,
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 5_000,
};
/** Requests that are under way at the agent. */
const maxAsked = 64;

/** The header with the second half of what a session is known by. */
const keyHeader = "berth-key";

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const safetyHeaders: Readonly<Record<string, string>> = {
  "Content-Security-Policy": contentSecurityPolicy,
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
  // What is not said otherwise is data.
  "Cache-Control": "no-store",
};

export interface UiDeps {
  readonly settings: UiSettings;
  readonly logins: Logins;
  readonly log: Log;
}

/** Serves until `signal` aborts. Rejects with a ListenError where the port cannot be had. */
export async function runUiServer(
  deps: UiDeps,
  onListening: (port: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const { settings, log } = deps;
  const server = createServer(limits);
  const connections = new ConnectionTable(connectionLimits);
  server.maxConnections = maxConnections;
  server.on("connection", (socket) => connections.add(socket));
  server.on("clientError", refuseUnreadable);
  await listenOn(server, settings.address);
  server.on("error", (error: Error) => log.error("the page's server failed", { error }));
  const { port } = server.address() as AddressInfo;
  const onKnown = (socket: Socket): void => connections.setKnown(socket);
  const door = new Door(deps, port, onKnown, signal);
  const turns = new RequestTurns<Turn>(
    (turn) => door.answer(turn),
    (socket, isBusy) => {
      connections.setBusy(socket, isBusy);
      if (!isBusy && connections.isStranger(socket)) socket.setTimeout(strangerIdleMs);
    },
  );
  server.on("request", (request, response) => turns.take({ request, response }));
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void door.answerUpgrade({ request, socket, head });
  });
  try {
    onListening(port);
    await untilStopped(signal);
  } finally {
    await closeServer(server);
  }
}

interface Turn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Lets in who may be let in. */
class Door {
  readonly #deps: UiDeps;
  readonly #hosts: ReadonlySet<string>;
  readonly #cookieName: string;
  readonly #open: readonly Route<Exchange>[];
  readonly #data: readonly Route<Exchange>[];
  readonly #onKnown: (socket: Socket) => void;
  readonly #stopping: AbortSignal;
  readonly #terminals: TerminalDoor;
  #asked = 0;

  constructor(
    deps: UiDeps,
    port: number,
    onKnown: (socket: Socket) => void,
    stopping: AbortSignal,
  ) {
    this.#deps = deps;
    this.#hosts = servedHosts(deps.settings.address.host, port);
    // Cookies are those of a machine, not of a port: two agents must not take each other's.
    this.#cookieName = `berth-ui-${port}`;
    this.#open = openRoutes(deps.settings, (code, exchange) => this.#logIn(code, exchange));
    this.#data = dataRoutes(deps.settings);
    this.#onKnown = onKnown;
    this.#stopping = stopping;
    const checks = {
      requireLikely: (request: IncomingMessage): void => {
        if (isUnlikely(request)) throw tooMuch();
        requireHost(request, this.#hosts);
      },
      findSession: (request: IncomingMessage, key: string): Session => {
        const session = this.#sessionOf(request, key);
        this.#onKnown(request.socket);
        return session;
      },
    };
    this.#terminals = new TerminalDoor(deps.settings, checks, stopping);
  }

  answerUpgrade(asked: TerminalRequest): Promise<void> {
    return this.#terminals.answer(asked);
  }

  async answer({ request, response }: Turn): Promise<void> {
    for (const [name, value] of Object.entries(safetyHeaders)) response.setHeader(name, value);
    const signal = requestSignal(this.#stopping, [response]);
    try {
      refuseUnlikely(request, response);
      requireHost(request, this.#hosts);
      const { method = "", url = "" } = request;
      const open = matchRoute(this.#open, method, url);
      if (open.kind === "found") {
        await open.handle({ query: open.query, request, response, signal });
        return;
      }
      if (open.kind === "wrong-method") throw wrongMethod(open.allowed, response);
      await this.#answerKnown({ request, response, signal });
    } catch (error) {
      sendError(response, toHttpError(error));
    }
  }

  async #answerKnown({ request, response, signal }: Omit<Exchange, "query">): Promise<void> {
    requireOwnPage(request.headers);
    const session = this.#sessionOf(request, request.headers[keyHeader]);
    this.#onKnown(request.socket);
    request.socket.setTimeout(0);
    const match = matchRoute(this.#data, request.method ?? "", request.url ?? "");
    if (match.kind === "wrong-method") throw wrongMethod(match.allowed, response);
    if (match.kind === "not-found") throw new HttpError("NotFound", "the page has no such data");
    if (this.#asked >= maxAsked) throw new HttpError("TooManyRequests", "too much at once");
    const end = (): void => void response.destroy();
    session.ended.addEventListener("abort", end);
    this.#asked++;
    try {
      await match.handle({ query: match.query, request, response, signal });
    } finally {
      this.#asked--;
      session.ended.removeEventListener("abort", end);
    }
  }

  #sessionOf({ headers }: IncomingMessage, key: string | string[] | undefined): Session {
    const cookie = readCookie(headers.cookie, this.#cookieName);
    const session =
      cookie === undefined || typeof key !== "string"
        ? undefined
        : this.#deps.logins.find(cookie, key);
    if (session !== undefined) return session;
    throw new HttpError("Unauthorized", "run `berth ui` on the node to log in");
  }

  #logIn(code: string, exchange: Exchange): void {
    const { logins, log } = this.#deps;
    const outcome = logins.logIn(code);
    if (outcome === "wrong-code") log.warn("a login to the page was refused");
    else if (outcome !== "too-many") log.info("a user has logged in to the page");
    sendLogin(exchange, outcome, this.#cookieName);
  }
}

/** Refuses what no browser sends for the page. */
function refuseUnlikely(request: IncomingMessage, response: ServerResponse): void {
  if (!isUnlikely(request)) return;
  // What is sent beyond that is not read: the connection ends with the answer.
  response.setHeader("Connection", "close");
  throw tooMuch();
}

function isUnlikely({ headers, rawHeaders, method, url = "" }: IncomingMessage): boolean {
  const length = Number(headers["content-length"] ?? 0);
  const isFitting =
    url.length <= maxTargetLength &&
    rawHeaders.length <= 2 * maxHeaders &&
    length <= (method === "POST" ? maxBodyBytes : 0) &&
    headers["transfer-encoding"] === undefined;
  return !isFitting;
}

function tooMuch(): HttpError {
  return new HttpError("RequestEntityTooLarge", "no browser sends so much for the page");
}

function wrongMethod(allowed: readonly string[], response: ServerResponse): HttpError {
  const methods = allowed.join(", ");
  response.setHeader("Allow", methods);
  return new HttpError("MethodNotAllowed", `only ${methods} is allowed here`);
}

/** The first of that name. */
function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? "").split(";")) {
    const [given = "", value] = pair.trim().split("=");
    if (given === name) return value;
  }
  return undefined;
}
