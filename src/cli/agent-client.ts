// Talks to the agent over its socket.
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { parseJsonText } from "../lib/json-text.ts";
import { clockHeader } from "../model/clock-header.ts";
import type { GcItem, GcOptions } from "../model/gc-item.ts";
import type { EphemeralContainer, Event, Status } from "../model/generated/kubernetes.ts";
import type { NodeDescription, RehearsedPod } from "../model/holding.ts";
import type { Pod } from "../model/pod.ts";
import type { Summary } from "../model/stats-summary.ts";
import type { AgentInfo, PodChange, PodExplanation } from "../ports/agent-view.ts";
import type { HistoryPage, HistoryPods, HistoryQuery } from "../ports/history.ts";
import type { SourceProblem } from "../ports/pod-source.ts";
import type { SyncRecord } from "../ports/sync-record.ts";
import { CliError, exitCodes } from "./exit.ts";
import { readJsonLines } from "./json-lines.ts";

export interface PodList {
  readonly items: readonly Pod[];
  readonly resourceVersion: string;
}

export interface Problems {
  readonly problems: readonly SourceProblem[];
  readonly ignoredFiles: readonly string[];
}

type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

interface Sent {
  readonly method: string;
  readonly type?: string;
  readonly body?: string;
}

export interface Upgrade {
  readonly what: "exec" | "attach" | "portforward";
  readonly query: Query;
  readonly protocol: string;
}

/** The agent's output, as it arrives. */
type Chunks = AsyncGenerator<Buffer>;

/** A connection that speaks another protocol from now on. */
export interface Upgraded {
  readonly connection: Duplex;
  readonly head: Buffer;
}

/** Every call rejects with a CliError that says what to do. */
export class AgentClient {
  readonly #socketPath: string;
  readonly #startedBy: string;
  /** Undefined = the agent's clock is the machine's. */
  #clock: AgentClock | undefined;

  /** `startedBy`: the command that runs such an agent. */
  constructor(socketPath: string, startedBy = "berth up") {
    this.#socketPath = socketPath;
    this.#startedBy = startedBy;
  }

  /** What time it is for the agent when it is `nowMs` here, as far as the agent has reported it. */
  agentTime(nowMs: number): number {
    if (this.#clock === undefined) return nowMs;
    const { agentMs, hereMs, speed } = this.#clock;
    return agentMs + (nowMs - hereMs) * speed;
  }

  async listPods(
    namespace: string | undefined,
    query: Query,
    signal: AbortSignal,
  ): Promise<PodList> {
    const body = await this.#json(podsPath(namespace), query, signal);
    const { items, metadata } = body as {
      readonly items: readonly Pod[];
      readonly metadata: { readonly resourceVersion: string };
    };
    return { items, resourceVersion: metadata.resourceVersion };
  }

  async *watchPods(
    namespace: string | undefined,
    query: Query,
    signal: AbortSignal,
  ): AsyncGenerator<PodChange> {
    const chunks = await this.#stream(podsPath(namespace), { ...query, watch: "true" }, signal);
    for await (const line of readJsonLines(chunks)) {
      const { type, object } = line as {
        readonly type: PodChange["type"];
        readonly object: Pod;
      };
      yield { type, pod: object };
    }
  }

  async readPod(namespace: string, name: string, signal: AbortSignal): Promise<Pod> {
    return (await this.#json(podPath(namespace, name), {}, signal)) as Pod;
  }

  async listEvents(pod: Pod, signal: AbortSignal): Promise<readonly Event[]> {
    const { namespace, uid } = pod.metadata;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`;
    const body = await this.#json(path, { fieldSelector: `involvedObject.uid=${uid}` }, signal);
    return (body as { readonly items: readonly Event[] }).items;
  }

  async readInfo(signal: AbortSignal): Promise<AgentInfo> {
    return (await this.#json("/berth/v1/info", {}, signal)) as AgentInfo;
  }

  async listProblems(signal: AbortSignal): Promise<Problems> {
    return (await this.#json("/berth/v1/problems", {}, signal)) as Problems;
  }

  async explain(podUid: string, signal: AbortSignal): Promise<PodExplanation> {
    const path = `/berth/v1/pods/${encodeURIComponent(podUid)}/explanation`;
    return (await this.#json(path, {}, signal)) as PodExplanation;
  }

  /** The pods that history knows, also those that are gone. */
  async listHistoryPods(signal: AbortSignal): Promise<HistoryPods> {
    return (await this.#json("/berth/v1/history/pods", {}, signal)) as HistoryPods;
  }

  /** One page of what happened, newest first. */
  async readHistory(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage> {
    const { uid, kinds, sinceMs, limit, before } = query;
    const parameters = {
      uid,
      kinds: kinds?.join(","),
      since: numberText(sinceMs),
      limit: numberText(limit),
      before,
    };
    return (await this.#json("/berth/v1/history/entries", parameters, signal)) as HistoryPage;
  }

  /** What is decided from now on, for one pod or for all. `onOpen`: nothing will be missed any more. */
  async *watchSyncs(
    podUid: string | undefined,
    onOpen: () => void,
    signal: AbortSignal,
  ): AsyncGenerator<SyncRecord> {
    const chunks = await this.#stream("/berth/v1/syncs", { uid: podUid }, signal);
    onOpen();
    for await (const line of readJsonLines(chunks)) yield line as SyncRecord;
  }

  /** The lines of a recording as they come, of one pod or of all. */
  openRecording(podUid: string | undefined, signal: AbortSignal): Promise<Chunks> {
    return this.#stream("/berth/v1/recording", { uid: podUid }, signal);
  }

  /** What is no longer needed; `remove` also removes it. */
  async listGarbage(
    { all, remove }: GcOptions & { readonly remove: boolean },
    signal: AbortSignal,
  ): Promise<readonly GcItem[]> {
    const path = withQuery("/berth/v1/gc", { all: String(all) });
    const response = await this.#send(path, signal, { method: remove ? "POST" : "GET" });
    return (parseJsonText(await readText(response)) as { readonly items: readonly GcItem[] }).items;
  }

  /** What the node has, and who has what of it for itself. */
  async describeNode(signal: AbortSignal): Promise<NodeDescription> {
    return (await this.#json("/berth/v1/node", {}, signal)) as NodeDescription;
  }

  /** What would become of these pods if they came now. */
  async rehearse(pods: readonly Pod[], signal: AbortSignal): Promise<readonly RehearsedPod[]> {
    const response = await this.#send("/berth/v1/plan", signal, {
      method: "PUT",
      type: "application/json",
      body: JSON.stringify({ pods }),
    });
    const body = parseJsonText(await readText(response));
    return (body as { readonly items: readonly RehearsedPod[] }).items;
  }

  /** Lets one browser in to the agent's page. */
  async newUiLogin(
    signal: AbortSignal,
  ): Promise<{ readonly address: string; readonly code: string }> {
    const response = await this.#send("/berth/v1/ui/login", signal, { method: "POST" });
    return parseJsonText(await readText(response)) as { address: string; code: string };
  }

  /** What the node and its pods use. */
  async readStats(signal: AbortSignal): Promise<Summary> {
    const response = await this.#send("/berth/v1/stats", signal, { method: "GET" });
    return parseJsonText(await readText(response)) as Summary;
  }

  /** The bytes of a log as they come. */
  openLog(pod: Pod, query: Query, signal: AbortSignal): Promise<Chunks> {
    const { namespace, name } = pod.metadata;
    return this.#stream(`${podPath(namespace, name)}/log`, query, signal);
  }

  /** Adds a container to a pod that runs already; answers the pod with it. */
  async addEphemeralContainer(
    pod: Pod,
    container: EphemeralContainer,
    signal: AbortSignal,
  ): Promise<Pod> {
    const { namespace, name } = pod.metadata;
    const response = await this.#send(`${podPath(namespace, name)}/ephemeralcontainers`, signal, {
      method: "PATCH",
      type: "application/strategic-merge-patch+json",
      body: JSON.stringify({ spec: { ephemeralContainers: [container] } }),
    });
    return parseJsonText(await readText(response)) as Pod;
  }

  /** Asks for an exec, an attach or a port forward by SPDY; the connection outlives `signal`. */
  upgrade(pod: Pod, { what, query, protocol }: Upgrade, signal: AbortSignal): Promise<Upgraded> {
    const { namespace, name } = pod.metadata;
    return new Promise((resolve, reject) => {
      const outgoing = request({
        createConnection: () => connect(this.#socketPath),
        method: "POST",
        path: withQuery(`${podPath(namespace, name)}/${what}`, query),
        headers: {
          Host: "localhost",
          Connection: "Upgrade",
          Upgrade: "SPDY/3.1",
          "X-Stream-Protocol-Version": protocol,
        },
      });
      const cancel = (): void => void outgoing.destroy();
      signal.addEventListener("abort", cancel, { once: true });
      outgoing.on("upgrade", (_, connection, head) => {
        signal.removeEventListener("abort", cancel);
        resolve({ connection, head });
      });
      outgoing.on("response", (response) => void readRefusal(response).then(reject, reject));
      outgoing.on("error", (error) => reject(this.#connectionError(error)));
      outgoing.end();
    });
  }

  async #json(path: string, query: Query, signal: AbortSignal): Promise<unknown> {
    const response = await this.#open(path, query, signal);
    return parseJsonText(await readText(response));
  }

  async #stream(path: string, query: Query, signal: AbortSignal): Promise<Chunks> {
    return chunksOf(await this.#open(path, query, signal));
  }

  #open(path: string, query: Query, signal: AbortSignal): Promise<IncomingMessage> {
    return this.#send(withQuery(path, query), signal, { method: "GET" });
  }

  async #send(path: string, signal: AbortSignal, what: Sent): Promise<IncomingMessage> {
    const { method, type, body } = what;
    const headers = { Host: "localhost", ...(type === undefined ? {} : { "Content-Type": type }) };
    // One request needs no agent of connections, which takes long to load.
    const createConnection = (): Socket => connect(this.#socketPath);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request({ createConnection, path, method, headers, signal }, resolve)
        .on("error", (error) => reject(this.#connectionError(error)))
        .end(body);
    });
    this.#clock = readClock(response);
    if (response.statusCode !== 200) throw await readRefusal(response);
    return response;
  }

  #connectionError(error: Error): Error {
    return connectionError(error, this.#socketPath, this.#startedBy);
  }
}

interface AgentClock {
  readonly agentMs: number;
  readonly hereMs: number;
  readonly speed: number;
}

function readClock({ headers }: IncomingMessage): AgentClock | undefined {
  const header = headers[clockHeader];
  if (typeof header !== "string") return undefined;
  const [agentMs = 0, speed = 1] = header.split(" ").map(Number);
  return { agentMs, hereMs: Date.now(), speed };
}

function podsPath(namespace: string | undefined): string {
  if (namespace === undefined) return "/api/v1/pods";
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
}

function podPath(namespace: string, name: string): string {
  return `${podsPath(namespace)}/${encodeURIComponent(name)}`;
}

function numberText(value: number | undefined): string | undefined {
  return value === undefined ? undefined : String(Math.floor(value));
}

function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of value === undefined ? [] : [value].flat()) parameters.append(name, one);
  }
  const text = parameters.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** An answer that breaks off is the end of the agent, unless the user has ended the command. */
async function* chunksOf(response: IncomingMessage): Chunks {
  try {
    for await (const chunk of response) yield Buffer.from(chunk);
  } catch (error) {
    if (codeOf(error) === "ABORT_ERR") throw error;
    throw new CliError("the agent ended in the middle of an answer", exitCodes.agentUnreachable);
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of chunksOf(response)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function readRefusal(response: IncomingMessage): Promise<CliError> {
  const text = await readText(response);
  const code = response.statusCode === 404 ? exitCodes.notFound : exitCodes.failed;
  try {
    const { message, reason } = parseJsonText(text) as Status;
    return new CliError(`${message ?? text}${reason === undefined ? "" : ` (${reason})`}`, code);
  } catch {
    return new CliError(`the agent answered HTTP ${response.statusCode}`, code);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

function connectionError(error: Error, socketPath: string, startedBy: string): Error {
  const code = codeOf(error);
  if (code === "ABORT_ERR") return error;
  if (code === "ENOENT" || code === "ECONNREFUSED") {
    return new CliError(
      `the agent is not running: no answer on ${socketPath}\n` +
        `Start it with: ${startedBy}\n` +
        "If it runs with another data dir, name it with --data-dir or BERTH_DATA_DIR.",
      exitCodes.agentUnreachable,
    );
  }
  if (code === "EACCES" || code === "EPERM") {
    return new CliError(
      `no permission to open ${socketPath}: run this command as the user of the agent (root)`,
      exitCodes.agentUnreachable,
    );
  }
  return new CliError(
    `the connection to the agent failed: ${error.message}`,
    exitCodes.agentUnreachable,
  );
}
