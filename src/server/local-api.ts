// The agent's API for this machine: Kubernetes-shaped HTTP over a unix socket that only its owner can open.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { clockHeader } from "../model/clock-header.ts";
import type { AgentView } from "../ports/agent-view.ts";
import type { Clock } from "../ports/clock.ts";
import type { UiDoor } from "../ports/ui-door.ts";
import { berthRoutes } from "./berth-routes.ts";
import { ephemeralRoutes } from "./ephemeral-routes.ts";
import { eventRoutes } from "./event-routes.ts";
import { type Exchange, sendError } from "./exchange.ts";
import { execRoutes, refuseUpgrade, type UpgradeExchange } from "./exec-proxy.ts";
import { historyRoutes } from "./history-routes.ts";
import { HttpError, toHttpError } from "./http-error.ts";
import { loginRoutes } from "./login-routes.ts";
import { PodFeed } from "./pod-feed.ts";
import { logRoutes } from "./pod-logs.ts";
import { podRoutes } from "./pod-routes.ts";
import { requestSignal } from "./request-signal.ts";
import { matchRoute, type Route, type RouteMatch } from "./router.ts";
import { closeServer, untilStopped } from "./tcp-server.ts";
import { listenOnSocket } from "./unix-socket.ts";

/** A command of an exec travels in the request line. */
const maxHeaderBytes = 256 * 1024;
const maxConnections = 512;

export interface LocalApiOptions {
  readonly socketPath: string;
  readonly clock: Pick<Clock, "nowMs">;
  /** How fast that clock runs, where it is not the machine's own; sent to clients. */
  readonly speed?: number | undefined;
  /** Undefined = the agent serves no page. */
  readonly ui?: UiDoor | undefined;
}

/** Serves until `signal` aborts, then ends every request and removes the socket. `onListening` is called once. */
export async function runLocalApi(
  view: AgentView,
  options: LocalApiOptions,
  onListening: () => void,
  signal: AbortSignal,
): Promise<void> {
  const nowMs = (): number => options.clock.nowMs();
  const feed = new PodFeed(view, nowMs(), signal);
  const routes = [
    ...podRoutes(view, feed),
    ...logRoutes(view, nowMs),
    ...ephemeralRoutes(view, feed),
    ...eventRoutes(view),
    ...berthRoutes(view),
    ...historyRoutes(view),
    ...loginRoutes(options.ui),
  ];
  const upgrades = execRoutes(view);
  const server = createServer({ maxHeaderSize: maxHeaderBytes, keepAliveTimeout: 5000 });
  server.maxConnections = maxConnections;
  server.on("request", (request, response) => {
    if (options.speed !== undefined) {
      response.setHeader(clockHeader, `${nowMs()} ${options.speed}`);
    }
    void answer(routes, upgrades, { request, response }, signal);
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void answerUpgrade(upgrades, { request, socket, head }, signal);
  });
  const removeSocket = await listenOnSocket(server, options.socketPath);
  try {
    onListening();
    await untilStopped(signal);
  } finally {
    await removeSocket();
    await closeServer(server);
  }
}

async function answer(
  routes: readonly Route<Exchange>[],
  upgrades: readonly Route<UpgradeExchange>[],
  { request, response }: Pick<Exchange, "request" | "response">,
  stopping: AbortSignal,
): Promise<void> {
  const signal = requestSignal(stopping, [response]);
  try {
    refuseBody(request, response);
    const { method = "", url = "" } = request;
    const match = matchRoute(routes, method, url);
    if (match.kind === "not-found" && matchRoute(upgrades, method, url).kind === "found") {
      throw new HttpError("BadRequest", "Upgrade request required");
    }
    if (match.kind === "wrong-method") response.setHeader("Allow", match.allowed.join(", "));
    const { query, handle } = found(match, request);
    await handle({ query, request, response, signal });
  } catch (error) {
    sendError(response, toHttpError(error));
  }
}

async function answerUpgrade(
  upgrades: readonly Route<UpgradeExchange>[],
  connection: Pick<UpgradeExchange, "request" | "socket" | "head">,
  stopping: AbortSignal,
): Promise<void> {
  const { request, socket } = connection;
  const signal = requestSignal(stopping, [socket]);
  socket.on("error", () => socket.destroy());
  signal.addEventListener("abort", () => socket.destroy());
  try {
    const { query, handle } = found(
      matchRoute(upgrades, request.method ?? "", request.url ?? ""),
      request,
    );
    await handle({ ...connection, query, signal });
  } catch (error) {
    refuseUpgrade(socket, error);
  }
}

function found<E>(
  match: RouteMatch<E>,
  { method, url }: IncomingMessage,
): Extract<RouteMatch<E>, { readonly kind: "found" }> {
  if (match.kind === "found") return match;
  if (match.kind === "not-found") {
    throw new HttpError("NotFound", "the server could not find the requested resource");
  }
  throw new HttpError(
    "MethodNotAllowed",
    `${method} is not allowed on ${url?.split("?")[0]}, only ${match.allowed.join(", ")}`,
  );
}

/** No other request has a body that is read. */
function refuseBody({ method, headers }: IncomingMessage, response: ServerResponse): void {
  if (method === "PUT" || method === "PATCH") return;
  const announced = headers["content-length"];
  if (headers["transfer-encoding"] === undefined && (announced ?? "0") === "0") return;
  response.setHeader("Connection", "close");
  throw new HttpError("RequestEntityTooLarge", `a ${method} takes no body`);
}
