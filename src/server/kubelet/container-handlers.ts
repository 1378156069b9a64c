// The endpoints about one pod's containers: logs, exec, attach, port-forward, run, checkpoint.
import { errorText } from "../../lib/error-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import { formatTimeNano } from "../../lib/time.ts";
import { type LogTime, parseLogTime } from "../../model/log/log-time.ts";
import { findContainer, type Pod } from "../../model/pod.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { AgentView } from "../../ports/agent-view.ts";
import type { CheckpointRefusal, KubeletHost } from "../../ports/kubelet-host.ts";
import { sendLogLines } from "../send-log.ts";
import { forwardUpgrade, UpgradeRefused, type UpgradeRequest } from "../stream-proxy.ts";
import { type KubeletExchange, sendJsonText, sendPlain, sendRefusal } from "./answers.ts";
import {
  type ContainerCall,
  type ContainerEndpoint,
  isUpgrade,
  isWebSocket,
  readContainerCall,
} from "./container-call.ts";
import { explainMissingLog } from "./missing-log.ts";
import type { StreamOptions } from "./stream-options.ts";
import {
  translateStreams,
  tunnelStreams,
  wantedTunnel,
  wantsStreamClose,
} from "./websocket-streams.ts";

export interface ContainerDeps {
  readonly view: AgentView;
  readonly host: KubeletHost;
  readonly nowMs: () => number;
  /** A stream without a byte for so long is closed; 0 = never. */
  readonly idleMs: number;
  /** The PodLogsQuerySplitStreams feature. */
  readonly splitsLogStreams: boolean;
  /** The ExtendWebSocketsToKubelet feature. */
  readonly translatesWebSockets: boolean;
  /** A WebSocket is translated for the runtime. */
  readonly onWebSocket: (subresource: string) => void;
}

export async function answerContainerCall(
  deps: ContainerDeps,
  endpoint: ContainerEndpoint,
  exchange: KubeletExchange,
): Promise<void> {
  const { view, host, splitsLogStreams } = deps;
  const { parameters, query, request, response, signal } = exchange;
  const read = readContainerCall(
    { endpoint, parameters, query, headers: request.headers },
    { findPod: (namespace, name) => view.findPod(namespace, name), splitsLogStreams },
  );
  if (!read.ok) {
    sendPlain(response, read.error.status, read.error.body);
    return;
  }
  const call = read.value;
  switch (call.kind) {
    case "logs":
      return sendLog(deps, call, exchange);
    case "run":
      return run(host, call, exchange);
    case "exec": {
      const { pod, container, command, options } = call;
      const open = () => view.execUrl(pod, { container, command, ...options }, signal);
      return stream(deps, { subresource: "exec", open, streams: options }, exchange);
    }
    case "attach": {
      const { pod, container, options } = call;
      // Whether a process has a terminal was decided when it was started.
      const tty = findContainer(pod, container)?.container.tty ?? false;
      const open = () => view.attachUrl(pod, { container, ...options, tty }, signal);
      return stream(deps, { subresource: "attach", open, streams: options }, exchange);
    }
    case "port-forward": {
      const open = () => host.portForwardUrl(call.pod, call.ports, signal);
      return stream(deps, { subresource: "portforward", open }, exchange);
    }
  }
}

async function sendLog(
  { view, nowMs }: ContainerDeps,
  { pod, container, options }: Extract<ContainerCall, { kind: "logs" }>,
  { response, signal }: KubeletExchange,
): Promise<void> {
  const { follow, previous, timestamps, tailLines, limitBytes } = options;
  const log = await view.findLog(pod, container, previous);
  if (log === undefined) {
    sendPlain(response, 400, explainMissingLog(pod, container, previous));
    return;
  }
  response.writeHead(200, {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Transfer-Encoding": "chunked",
  });
  response.flushHeaders();
  try {
    await sendLogLines(
      response,
      log.path,
      {
        streams: logStreams(options.stream),
        timestamps,
        tailLines,
        limitBytes,
        since: logStart(options, nowMs()),
        followUntil: follow ? log.finished : undefined,
      },
      signal,
    );
  } catch (error) {
    // The answer has begun: its text is the only place left to say it.
    response.write(errorText(error));
  }
  response.end();
}

function logStreams(stream: string | undefined): "all" | "stdout" | "stderr" {
  if (stream === "Stdout") return "stdout";
  return stream === "Stderr" ? "stderr" : "all";
}

function logStart(
  { sinceSeconds, sinceTime = "" }: Extract<ContainerCall, { kind: "logs" }>["options"],
  nowMs: number,
): LogTime | undefined {
  if (sinceSeconds !== undefined) return parseLogTime(formatTimeNano(nowMs - sinceSeconds * 1000));
  return parseLogTime(sinceTime);
}

async function run(
  host: KubeletHost,
  { pod, container, command }: Extract<ContainerCall, { kind: "run" }>,
  { response, signal }: KubeletExchange,
): Promise<void> {
  try {
    const output = await host.runInContainer(pod, container, command, signal);
    sendJsonText(response, output, { "X-Content-Type-Options": "nosniff" });
  } catch (error) {
    sendPlain(response, 500, errorText(error));
  }
}

interface StreamTarget {
  readonly subresource: "exec" | "attach" | "portforward";
  /** Asks the runtime where it serves the stream. */
  readonly open: () => Promise<URL>;
  /** Those of a command. */
  readonly streams?: StreamOptions | undefined;
}

/** Connects the client with the runtime's streaming server. */
async function stream(
  deps: ContainerDeps,
  target: StreamTarget,
  { request, response, upgrade, signal }: KubeletExchange,
): Promise<void> {
  let url: URL;
  try {
    url = await target.open();
  } catch (error) {
    refuseStream(response, error);
    return;
  }
  if (upgrade === undefined || !isUpgrade(request.headers)) {
    sendRefusal(response, 500, "Upgrade request required");
    return;
  }
  const { socket, head } = upgrade;
  const onUpgrade = (): void => {
    if (response.socket !== null) response.detachSocket(response.socket);
  };
  try {
    await connect(deps, url, { request, socket, head, signal }, { ...target, onUpgrade });
  } catch (error) {
    const status = error instanceof UpgradeRefused ? error.status : 500;
    sendRefusal(response, status, errorText(error));
  }
}

/** By translation where a client wants what only newer runtimes have. */
function connect(
  { idleMs, translatesWebSockets, onWebSocket }: ContainerDeps,
  url: URL,
  upgrade: UpgradeRequest,
  { subresource, streams, onUpgrade }: Omit<StreamTarget, "open"> & { onUpgrade: () => void },
): Promise<void> {
  const { request } = upgrade;
  const options = { idleMs, onUpgrade };
  if (translatesWebSockets && isWebSocket(request.headers)) {
    const tunnel = wantedTunnel(request);
    if (streams !== undefined && wantsStreamClose(request)) {
      onWebSocket(subresource);
      return translateStreams(url, upgrade, streams, options);
    }
    if (streams === undefined && tunnel !== undefined) {
      onWebSocket(subresource);
      return tunnelStreams(url, upgrade, tunnel, options);
    }
  }
  return forwardUpgrade(url, upgrade, options);
}

function refuseStream(response: KubeletExchange["response"], error: unknown): void {
  const code = error instanceof RuntimeError ? error.code : undefined;
  if (code === "ResourceExhausted") {
    sendPlain(response, 429, errorText(error), { "Retry-After": "60" });
    return;
  }
  sendPlain(response, code === "NotFound" ? 404 : 500, errorText(error));
}

/** /checkpoint: a running container as a file that it can go on from. */
export async function answerCheckpoint(
  { view, host }: ContainerDeps,
  { parameters, query, response, signal }: KubeletExchange,
): Promise<void> {
  const { podNamespace = "", podID = "", containerName = "" } = parameters;
  const pod: Pod | undefined = view.findPod(podNamespace, podID);
  if (pod === undefined) {
    sendPlain(response, 404, "pod does not exist");
    return;
  }
  if (findContainer(pod, containerName) === undefined) {
    sendPlain(response, 404, `container ${containerName} does not exist`);
    return;
  }
  const timeout = query.get("timeout")?.at(-1) ?? "0";
  if (!/^[+-]?\d{1,15}$/.test(timeout)) {
    sendPlain(response, 404, "cannot parse value of timeout parameter");
    return;
  }
  const what = `${podNamespace}/${podID}/${containerName}`;
  try {
    const written = await host.checkpoint(pod, containerName, Number(timeout), signal);
    if (written.ok) sendJsonText(response, `{"items":[${quoteText(written.value)}]}`);
    else refuseCheckpoint(response, what, written.error);
  } catch (error) {
    sendPlain(response, 500, `checkpointing of ${what} failed (${errorText(error)})`);
  }
}

function refuseCheckpoint(
  response: KubeletExchange["response"],
  what: string,
  { message, retryAfterSeconds }: CheckpointRefusal,
): void {
  const text = `checkpointing of ${what} was refused: ${message}`;
  if (retryAfterSeconds === undefined) sendPlain(response, 507, text);
  else sendPlain(response, 429, text, { "Retry-After": String(retryAfterSeconds) });
}
