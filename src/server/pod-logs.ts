// /api/v1/namespaces/{namespace}/pods/{name}/log
import { formatTimeNano } from "../lib/time.ts";
import { type LogTime, parseLogTime } from "../model/log/log-time.ts";
import type { Pod } from "../model/pod.ts";
import type { AgentView, ContainerLog } from "../ports/agent-view.ts";
import { chooseContainer } from "./choose-container.ts";
import type { Exchange } from "./exchange.ts";
import { HttpError } from "./http-error.ts";
import type { LogStream } from "./log-filter.ts";
import { findPod } from "./pod-routes.ts";
import { readCount, readFlag } from "./query.ts";
import { type Route, route } from "./router.ts";
import { sendLogLines } from "./send-log.ts";

export function logRoutes(view: AgentView, nowMs: () => number): readonly Route<Exchange>[] {
  return [
    route(
      ["GET"],
      "/api/v1/namespaces/{namespace}/pods/{name}/log",
      ({ namespace, name }, exchange: Exchange) =>
        sendLog(view, findPod(view, namespace, name), exchange, nowMs()),
    ),
  ];
}

async function sendLog(
  view: AgentView,
  pod: Pod,
  { query, response, signal }: Exchange,
  nowMs: number,
): Promise<void> {
  const container = chooseContainer(pod, query);
  const follow = readFlag(query, "follow");
  const options = {
    streams: readStreams(query),
    timestamps: readFlag(query, "timestamps"),
    tailLines: readCount(query, "tailLines"),
    limitBytes: readCount(query, "limitBytes", 1),
    since: readSince(query, nowMs),
  };
  const log = await findLog(
    view,
    pod,
    { container, previous: readFlag(query, "previous") },
    signal,
  );
  response.writeHead(200, {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
  });
  response.flushHeaders();
  try {
    const followUntil = follow ? log.finished : undefined;
    await sendLogLines(response, log.path, { ...options, followUntil }, signal);
  } catch (error) {
    // The answer has begun: its text is the only place left to say it.
    response.write(`${error instanceof Error ? error.message : String(error)}\n`);
  }
  response.end();
}

async function findLog(
  view: AgentView,
  pod: Pod,
  { container, previous }: { readonly container: string; readonly previous: boolean },
  signal: AbortSignal,
): Promise<ContainerLog> {
  const log = await view.findLog(pod, container, previous, signal);
  if (log !== undefined) return log;
  const { name } = pod.metadata;
  if (previous) {
    throw new HttpError(
      "BadRequest",
      `previous terminated container "${container}" in pod "${name}" not found`,
    );
  }
  const { status } = pod;
  const waiting = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ].find((candidate) => candidate.name === container)?.state?.waiting;
  const reason = waiting?.reason ?? "ContainerCreating";
  throw new HttpError(
    "BadRequest",
    `container "${container}" in pod "${name}" is waiting to start: ${reason}`,
  );
}

function readStreams(query: URLSearchParams): "all" | LogStream {
  const stream = query.get("stream") ?? "All";
  switch (stream) {
    case "":
    case "All":
      return "all";
    case "Stdout":
      return "stdout";
    case "Stderr":
      return "stderr";
    default:
      throw new HttpError("BadRequest", `stream: "${stream}" must be All, Stdout or Stderr`);
  }
}

function readSince(query: URLSearchParams, nowMs: number): LogTime | undefined {
  const seconds = readCount(query, "sinceSeconds", 1);
  const time = query.get("sinceTime") ?? "";
  if (seconds !== undefined && time !== "") {
    throw new HttpError("BadRequest", "at most one of sinceTime or sinceSeconds may be specified");
  }
  if (seconds !== undefined) return parseLogTime(formatTimeNano(nowMs - seconds * 1000));
  if (time === "") return undefined;
  const since = parseLogTime(time);
  if (since === undefined) {
    throw new HttpError("BadRequest", `sinceTime: "${time}" is not a time as in RFC 3339`);
  }
  return since;
}
