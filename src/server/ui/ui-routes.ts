// What the page may ask for, and nothing else.
import { parseJsonText } from "../../lib/json-text.ts";
import { berthCommit, berthVersion } from "../../lib/version.ts";
import { clockHeader } from "../../model/clock-header.ts";
import type { AgentInfo } from "../../ports/agent-view.ts";
import { type Exchange, sendJson } from "../exchange.ts";
import { HttpError } from "../http-error.ts";
import { readBody } from "../read-body.ts";
import { type Route, route } from "../router.ts";
import { askAgent, handOn } from "./ask-agent.ts";
import { requireNoFrame, requireOrigin, requireOwnPage } from "./check-request.ts";
import type { LoginRefusal, NewSession } from "./logins.ts";
import { sendPageFile } from "./page-files.ts";
import type { UiSettings } from "./ui-settings.ts";

/** Routes of the local API that read and change nothing. */
const readPaths = [
  "/api/v1/pods",
  "/api/v1/namespaces/{namespace}/pods",
  "/api/v1/namespaces/{namespace}/pods/{name}",
  "/api/v1/namespaces/{namespace}/pods/{name}/log",
  "/api/v1/events",
  "/api/v1/namespaces/{namespace}/events",
  "/berth/v1/info",
  "/berth/v1/problems",
  "/berth/v1/stats",
  "/berth/v1/node",
  "/berth/v1/images",
  "/berth/v1/gc",
  "/berth/v1/pods/{uid}/explanation",
  "/berth/v1/history/pods",
  "/berth/v1/history/entries",
  "/berth/v1/history/at",
];
const maxLoginBytes = 1024;

/** Open to everybody who reaches the port: the page itself, without any data, and the login. */
export function openRoutes(
  { pageFolder }: UiSettings,
  logIn: (code: string, exchange: Exchange) => void,
): readonly Route<Exchange>[] {
  return [
    route(["GET"], "/", (_, { request, response }: Exchange) => {
      requireNoFrame(request.headers);
      const acceptsGzip = takesGzip(request.headers["accept-encoding"]);
      const file = { path: "index.html", acceptsGzip, isImmutable: false };
      return sendPageFile(response, pageFolder, file);
    }),
    route(["GET"], "/assets/{name}", ({ name }, { request, response }: Exchange) => {
      requireOwnPage(request.headers);
      const acceptsGzip = takesGzip(request.headers["accept-encoding"]);
      const file = { path: `assets/${name}`, acceptsGzip, isImmutable: true };
      return sendPageFile(response, pageFolder, file);
    }),
    route(["POST"], "/ui/login", async (_, exchange: Exchange) => {
      requireOrigin(exchange.request.headers);
      logIn(parseCode(await readBody(exchange.request, maxLoginBytes)), exchange);
    }),
  ];
}

/** For those who have logged in. */
export function dataRoutes(settings: UiSettings): readonly Route<Exchange>[] {
  return [
    route(["GET"], "/ui/info", async (_, { response, signal }: Exchange) => {
      sendJson(response, await readInfo(settings, signal));
    }),
    ...readPaths.map((path) =>
      route(["GET"], path, (_, exchange: Exchange) => handOn(exchange, settings.agentSocket)),
    ),
  ];
}

/** Answers a login; `name` is that of the cookie. */
export function sendLogin(
  { response }: Exchange,
  outcome: NewSession | LoginRefusal,
  name: string,
): void {
  switch (outcome) {
    case "wrong-code":
      throw new HttpError(
        "Unauthorized",
        "this login was used, has expired or never existed: run `berth ui` for a new one",
      );
    case "too-many":
      throw new HttpError("TooManyRequests", "too many wrong logins: wait a moment");
    default: {
      const { cookie, key, lifetimeMs } = outcome;
      const seconds = Math.floor(lifetimeMs / 1000);
      response.setHeader(
        "Set-Cookie",
        `${name}=${cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}`,
      );
      sendJson(response, { key, lifetimeMs });
    }
  }
}

async function readInfo(
  { agentSocket, mode, terminal }: UiSettings,
  signal: AbortSignal,
): Promise<object> {
  const answer = await askAgent(agentSocket, "/berth/v1/info", signal);
  const { nodeName } = parseJsonText(await readAll(answer)) as AgentInfo;
  const clock = answer.headers[clockHeader];
  const [nowMs = Date.now(), speed = 1] =
    typeof clock === "string" ? clock.split(" ").map(Number) : [];
  return {
    nodeName,
    version: berthVersion,
    commit: berthCommit,
    nodeVersion: process.version,
    mode,
    terminal,
    nowMs,
    speed,
  };
}

async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const read: Uint8Array[] = [];
  for await (const chunk of chunks) read.push(chunk);
  return Buffer.concat(read).toString();
}

function parseCode(text: string): string {
  try {
    const { code } = parseJsonText(text) as { readonly code?: unknown };
    if (typeof code === "string") return code;
  } catch {
    // As any other body without a code.
  }
  throw new HttpError("BadRequest", 'the body has to be {"code": "..."}');
}

function takesGzip(accepted: string | string[] | undefined): boolean {
  return String(accepted)
    .split(",")
    .some((coding) => coding.trim() === "gzip");
}
