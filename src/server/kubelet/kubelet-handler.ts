// Answers one request to the kubelet's API: finds its endpoint, checks who may ask, and hands it on.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { errorText } from "../../lib/error-text.ts";
import type { Log } from "../../ports/log.ts";
import { requestSignal } from "../request-signal.ts";
import { type KubeletHandler, sendPlain, sendRedirect, sendRefusal } from "./answers.ts";
import { anonymousUser } from "./authenticate.ts";
import { type AccessRules, checkAccess } from "./check-access.ts";
import { type Endpoint, type EndpointTable, findEndpoint, type Lookup } from "./endpoints.ts";
import { RequestMeter, type RequestMetrics } from "./request-meter.ts";
import { parseQuery, textOfBytes } from "./request-target.ts";

export interface KubeletApi {
  readonly table: EndpointTable;
  readonly handlers: Readonly<Record<Endpoint, KubeletHandler>>;
  /** Undefined = requests are not authorized: the read-only port and the health port. */
  readonly access?: AccessRules<IncomingMessage> | undefined;
  /** Called when a request of a user other than system:anonymous is authorized. */
  readonly onKnown?: ((socket: IncomingMessage["socket"]) => void) | undefined;
  readonly log: Log;
  readonly metrics?: RequestMetrics | undefined;
}

export interface Connection {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly upgrade?: { readonly socket: Duplex; readonly head: Buffer } | undefined;
}

/** Far beyond every path of a pod and its containers. A command of an exec travels in the query. */
const maxPathBytes = 4096;

type Guarded = Extract<Lookup, { readonly kind: "guarded" }>;

/** Makes the function that answers every request of a server. */
export function createKubeletHandler(
  api: KubeletApi,
  stopping: AbortSignal,
): (connection: Connection) => Promise<void> {
  const serverType = api.access === undefined ? "readonly" : "readwrite";
  const meter =
    api.metrics === undefined ? undefined : new RequestMeter(api.metrics, api.table, serverType);
  return async (connection) => {
    const { request, response } = connection;
    const { method = "", url = "" } = request;
    if (isPathTooLong(url)) {
      sendRefusal(response, 414, `the path is longer than ${maxPathBytes} bytes`, {
        Connection: "close",
      });
      return;
    }
    const lookup = findEndpoint(api.table, method, url, request.headers.accept);
    const path = lookup.kind === "unparsable" ? "" : textOfBytes(lookup.target.path);
    const finish = meter?.begin(method, path);
    const signal = requestSignal(stopping, [response, connection.upgrade?.socket]);
    try {
      if (lookup.kind === "guarded") await answerGuarded(api, lookup, connection, signal);
      else answerOpen(lookup, connection);
    } catch (error) {
      if (!signal.aborted) api.log.warn("cannot answer a request", { path, error });
      sendPlain(response, 500, errorText(error));
    } finally {
      finish?.();
    }
  };
}

function isPathTooLong(target: string): boolean {
  if (target.length <= maxPathBytes) return false;
  const queryStart = target.indexOf("?");
  return queryStart < 0 || queryStart > maxPathBytes;
}

/** What has no endpoint needs no permission. */
function answerOpen(lookup: Exclude<Lookup, Guarded>, { request, response }: Connection): void {
  const kind = lookup.kind === "unparsable" ? "bad-request" : lookup.match.kind;
  if (lookup.kind === "open" && lookup.match.kind === "redirect") {
    sendRedirect(request, response, lookup.match.location, 307);
  } else if (kind === "not-found") {
    sendRefusal(response, 404, "404 page not found");
  } else {
    sendPlain(response, 400, "400 Bad Request", { Connection: "close" });
  }
}

async function answerGuarded(
  { access, handlers, log, onKnown }: KubeletApi,
  { target, answer }: Guarded,
  connection: Connection,
  signal: AbortSignal,
): Promise<void> {
  const { request, response } = connection;
  const path = textOfBytes(target.path);
  if (access !== undefined) {
    const { method = "" } = request;
    const verdict = await checkAccess(access, request, { method, path }, signal);
    if (verdict.kind === "refused") {
      const { status, body, error } = verdict;
      if (error !== undefined)
        log.warn("cannot authenticate or authorize a request", { path, status, error });
      sendPlain(response, status, body, status === 429 ? { "Retry-After": "1" } : {});
      return;
    }
    if (verdict.user !== anonymousUser) onKnown?.(request.socket);
  }
  if (answer.kind === "refuse") {
    const { status, body, allow } = answer;
    sendPlain(response, status, body, allow === undefined ? {} : { Allow: allow });
    return;
  }
  const query = parseQuery(target.rawQuery);
  await handlers[answer.endpoint]({
    ...connection,
    parameters: answer.parameters,
    path,
    query,
    signal,
  });
}
