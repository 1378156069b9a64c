// /berth/v1/history: what happened on the node, also before this agent and to pods that are gone.
import { podUid } from "../model/ids.ts";
import type { AgentView } from "../ports/agent-view.ts";
import type { HistoryKind } from "../ports/history.ts";
import { type Exchange, sendJson } from "./exchange.ts";
import { HttpError } from "./http-error.ts";
import { readCount } from "./query.ts";
import { type Route, route } from "./router.ts";

const mostEntries = 1000;

export function historyRoutes({ history }: AgentView): readonly Route<Exchange>[] {
  return [
    route(["GET"], "/berth/v1/history/pods", async (_, { response, signal }: Exchange) => {
      sendJson(response, await history.pods(signal));
    }),
    route(
      ["GET"],
      "/berth/v1/history/entries",
      async (_, { response, query, signal }: Exchange) => {
        const uid = query.get("uid");
        const page = await history.entries(
          {
            uid: uid === null ? undefined : podUid(uid),
            kinds: readKinds(query.get("kinds")),
            sinceMs: readCount(query, "since"),
            untilMs: readCount(query, "until"),
            limit: readLimit(query),
            before: readPosition(query.get("before")),
          },
          signal,
        );
        sendJson(response, page);
      },
    ),
    route(["GET"], "/berth/v1/history/at", async (_, { response, query, signal }: Exchange) => {
      const timeMs = readCount(query, "time");
      if (timeMs === undefined) {
        throw new HttpError("BadRequest", "time: give the milliseconds since 1970");
      }
      sendJson(response, await history.at(timeMs, signal));
    }),
  ];
}

function readLimit(query: URLSearchParams): number | undefined {
  const limit = readCount(query, "limit", 1);
  if (limit === undefined || limit <= mostEntries) return limit;
  throw new HttpError("BadRequest", `limit: "${limit}" is more than ${mostEntries}`);
}

const kinds: Readonly<Record<HistoryKind, true>> = {
  sync: true,
  status: true,
  event: true,
  gone: true,
  node: true,
  "node-event": true,
  agent: true,
};

function readKinds(text: string | null): readonly HistoryKind[] | undefined {
  if (text === null || text === "") return undefined;
  const names = text.split(",");
  const unknown = names.find((name) => !isKind(name));
  if (unknown === undefined) return names.filter(isKind);
  const known = Object.keys(kinds).join(", ");
  throw new HttpError("BadRequest", `kinds: "${unknown}" is none of ${known}`);
}

function isKind(text: string): text is HistoryKind {
  return Object.hasOwn(kinds, text);
}

function readPosition(text: string | null): string | undefined {
  if (text === null || text === "") return undefined;
  if (/^\d{1,10}(?:\.\d{1,10})?$/.test(text)) return text;
  throw new HttpError("BadRequest", `before: "${text}" is not the "next" of an earlier answer`);
}
