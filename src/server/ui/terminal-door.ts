// Who gets a terminal: asked as a WebSocket by the page itself, in a session, where terminals are switched on.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { refuseUpgrade } from "../exec-proxy.ts";
import { HttpError } from "../http-error.ts";
import { requestSignal } from "../request-signal.ts";
import { matchRoute, type Route, route } from "../router.ts";
import { isHandshake, offeredProtocols, WebSocketConnection } from "../websocket/connection.ts";
import { requireOrigin } from "./check-request.ts";
import type { Session } from "./logins.ts";
import type { ExecTarget } from "./open-exec.ts";
import { runTerminal } from "./terminal.ts";
import type { UiSettings } from "./ui-settings.ts";

/** What a browser asks for; the key comes as a protocol, as its scripts can set no headers here. */
const terminalProtocol = "berth-terminal";
const keyPrefix = "berth-key.";
const maxTerminals = 16;
/** Pages send what is pasted in pieces. */
const maxMessageBytes = 64 * 1024;
/** So long a command may be, with its arguments. */
const maxArguments = 64;

export interface TerminalRequest {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

interface TerminalExchange extends TerminalRequest {
  readonly query: URLSearchParams;
}

/** Throws where the request may not be made; `findSession` throws where there is none of that key. */
interface Checks {
  requireLikely(request: IncomingMessage): void;
  findSession(request: IncomingMessage, key: string): Session;
}

export class TerminalDoor {
  readonly #settings: UiSettings;
  readonly #checks: Checks;
  readonly #stopping: AbortSignal;
  readonly #routes: readonly Route<TerminalExchange>[];
  #open = 0;

  constructor(settings: UiSettings, checks: Checks, stopping: AbortSignal) {
    this.#settings = settings;
    this.#checks = checks;
    this.#stopping = stopping;
    this.#routes = [
      route(["GET"], "/ui/terminal", (_, exchange: TerminalExchange) => this.#enter(exchange)),
    ];
  }

  /** Resolves when the terminal has ended. */
  async answer(asked: TerminalRequest): Promise<void> {
    const { request, socket } = asked;
    socket.on("error", () => socket.destroy());
    try {
      this.#checks.requireLikely(request);
      const match = matchRoute(this.#routes, request.method ?? "", request.url ?? "");
      if (match.kind !== "found") throw new HttpError("NotFound", "nothing here is upgraded");
      await match.handle({ ...asked, query: match.query });
    } catch (error) {
      refuseUpgrade(socket, error);
    }
  }

  async #enter({ request, socket, head, query }: TerminalExchange): Promise<void> {
    const { headers } = request;
    requireOrigin(headers);
    const protocols = offeredProtocols(headers);
    const key = protocols.find((protocol) => protocol.startsWith(keyPrefix)) ?? "";
    const session = this.#checks.findSession(request, key.slice(keyPrefix.length));
    if (!this.#settings.terminal) {
      const message = "this agent's page has no terminal: start the agent with --ui-terminal";
      throw new HttpError("Forbidden", message);
    }
    if (!isHandshake(headers) || !protocols.includes(terminalProtocol)) {
      throw new HttpError("BadRequest", `a terminal is a WebSocket of ${terminalProtocol}`);
    }
    const target = readTarget(query, this.#settings.agentSocket);
    if (this.#open >= maxTerminals) {
      throw new HttpError("TooManyRequests", `${maxTerminals} terminals are open`);
    }
    request.socket.setTimeout(0);
    request.socket.setKeepAlive(true, 30_000);
    const opened = { socket, head };
    const browser = WebSocketConnection.accept(headers, terminalProtocol, opened, maxMessageBytes);
    const over = new AbortController();
    const end = (): void => over.abort();
    session.ended.addEventListener("abort", end);
    requestSignal(this.#stopping, [socket]).addEventListener("abort", end, { once: true });
    this.#open++;
    try {
      await runTerminal(browser, target, over.signal);
    } finally {
      this.#open--;
      session.ended.removeEventListener("abort", end);
    }
  }
}

function readTarget(query: URLSearchParams, agentSocket: string): ExecTarget {
  const command = query.getAll("command");
  if (command.length === 0 || command.length > maxArguments) {
    throw new HttpError("BadRequest", `command: give it with up to ${maxArguments - 1} arguments`);
  }
  return {
    agentSocket,
    namespace: readName(query, "namespace"),
    pod: readName(query, "pod"),
    container: query.get("container") ?? "",
    command,
  };
}

function readName(query: URLSearchParams, name: string): string {
  const value = query.get(name) ?? "";
  if (value === "") throw new HttpError("BadRequest", `${name}: it is missing`);
  return value;
}
