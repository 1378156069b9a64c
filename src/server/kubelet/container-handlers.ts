// The endpoints about one pod's containers: logs, exec, attach, port-forward, run, checkpoint.
import { errorText } from "../../lib/error-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import type { Semaphore } from "../../lib/semaphore.ts";
import { formatTimeNano } from "../../lib/time.ts";
import { type LogTime, parseLogTime } from "../../model/log/log-time.ts";
import { findContainer, type Pod } from "../../model/pod.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { AgentCalls, PodReference } from "../../ports/agent-calls.ts";
import type { CheckpointRefusal } from "../../ports/kubelet-host.ts";
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

const askFinishedMs = 500;

export interface ContainerDeps {
  readonly agent: AgentCalls;
  /** Limits how many commands are run at once. */
  readonly runs: Semaphore;
  readonly nowMs: () => number;
  /** A stream that is idle for this long is closed; 0 = never. */
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
  const { agent, splitsLogStreams } = deps;
  const { parameters, query, request, response, signal } = exchange;
  const read = readContainerCall(
    { endpoint, parameters, query, headers: request.headers },
    { pod: await findPod(agent, exchange), splitsLogStreams },
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
      return run(deps, call, exchange);
    case "exec": {
      const { pod, container, command, options } = call;
      const asked = { pod: referTo(pod), options: { container, command, ...options } };
      const open = () => agent.execUrl(asked, signal);
      return stream(deps, { subresource: "exec", open, streams: options }, exchange);
    }
    case "attach": {
      const { pod, container, options } = call;
      // Whether a process has a terminal was decided when it was started.
      const tty = findContainer(pod, container)?.container.tty ?? false;
      const asked = { pod: referTo(pod), options: { container, ...options, tty } };
      const open = () => agent.attachUrl(asked, signal);
      return stream(deps, { subresource: "attach", open, streams: options }, exchange);
    }
    case "port-forward": {
      const asked = { pod: referTo(call.pod), ports: call.ports };
      const open = () => agent.portForwardUrl(asked, signal);
      return stream(deps, { subresource: "portforward", open }, exchange);
    }
  }
}

function findPod(
  agent: AgentCalls,
  { parameters, signal }: KubeletExchange,
): Promise<Pod | undefined> {
  const { podNamespace: namespace = "", podID: name = "" } = parameters;
  return agent.findPod({ namespace, name }, signal);
}

function referTo({ metadata: { namespace, name, uid } }: Pod): PodReference {
  return { namespace, name, uid };
}

async function sendLog(
  { agent, nowMs }: ContainerDeps,
  { pod, container, options }: Extract<ContainerCall, { kind: "logs" }>,
  { response, signal }: KubeletExchange,
): Promise<void> {
  const { follow, previous, timestamps, tailLines, limitBytes } = options;
  const reference = { pod: referTo(pod), container, previous };
  const path = await agent.findLog(reference, signal);
  if (path === undefined) {
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
      path,
      {
        streams: logStreams(options.stream),
        timestamps,
        tailLines,
        limitBytes,
        since: logStart(options, nowMs()),
        followUntil: follow
          ? untilFinished(() => agent.isLogFinished({ ...reference, path }, signal))
          : undefined,
      },
      signal,
    );
  } catch (error) {
    // The answer has begun: its text is the only place left to say it.
    response.write(errorText(error));
  }
  response.end();
}

/** A log that is written to all the time wakes its reader far more often than the agent should be asked. */
function untilFinished(ask: () => Promise<boolean>): () => Promise<boolean> {
  let askAgainMs = 0;
  return async () => {
    if (performance.now() < askAgainMs) return false;
    askAgainMs = performance.now() + askFinishedMs;
    return ask();
  };
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
  { agent, runs }: ContainerDeps,
  { pod, container, command }: Extract<ContainerCall, { kind: "run" }>,
  { response, signal }: KubeletExchange,
): Promise<void> {
  const leave = await runs.enter(signal);
  try {
    const output = await agent.runInContainer({ pod: referTo(pod), container, command }, signal);
    sendJsonText(response, output, { "X-Content-Type-Options": "nosniff" });
  } catch (error) {
    sendPlain(response, 500, errorText(error));
  } finally {
    leave();
  }
}

interface StreamTarget {
  readonly subresource: "exec" | "attach" | "portforward";
  /** Asks the runtime where it serves the stream. */
  readonly open: () => Promise<string>;
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
    url = new URL(await target.open());
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
  { agent }: ContainerDeps,
  exchange: KubeletExchange,
): Promise<void> {
  const { parameters, query, response, signal } = exchange;
  const { podNamespace = "", podID = "", containerName = "" } = parameters;
  const pod = await findPod(agent, exchange);
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
    const asked = { pod: referTo(pod), container: containerName, timeoutSeconds: Number(timeout) };
    const written = await agent.checkpoint(asked, signal);
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
