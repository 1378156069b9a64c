// The agent's end of the calls that the kubelet's API makes.

import { Session } from "node:inspector/promises";
import { encodeSummary } from "../core/stats/encode-summary.ts";
import { sleep } from "../lib/timers.ts";
import type { SubjectAccessReview, TokenReview } from "../model/generated/kubernetes.ts";
import type { Pod } from "../model/pod.ts";
import { RuntimeError } from "../model/runtime-error.ts";
import type { AgentCalls, LogReference, PodReference, ProfileKind } from "../ports/agent-calls.ts";
import type { AgentView, ContainerLog } from "../ports/agent-view.ts";
import type { ApiClient } from "../ports/api-client.ts";
import type { KubeletHost, MetricsPages } from "../ports/kubelet-host.ts";
import type { AdjustableLog, Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { StatsProvider } from "../ports/stats.ts";
import { listedPod, podListText } from "../server/pod-list-text.ts";
import { takeOverNotes } from "./take-over-notes.ts";

/** From this --v on a kubelet logs what Berth calls details. */
const detailsVerbosity = 4;

export interface HealthCheck {
  readonly name: string;
  /** What is wrong; undefined = nothing. */
  problem(): string | undefined;
}

/** What of the agent is served. */
export interface ServedAgent {
  readonly view: AgentView;
  readonly host: KubeletHost;
  readonly stats: Pick<StatsProvider, "summary">;
  readonly pages: MetricsPages;
}

export interface AgentCallsDeps {
  readonly agent: ServedAgent;
  readonly healthChecks: readonly HealthCheck[];
  readonly verbosity: Pick<AdjustableLog, "showDetails">;
  /** For reviews of tokens and access; undefined = there is no cluster. */
  readonly api: ApiClient | undefined;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
}

export function createAgentCalls(deps: AgentCallsDeps): AgentCalls {
  const { view, host, stats, pages } = deps.agent;
  const find = (reference: PodReference): Pod => findPod(view, reference);
  return {
    findPod: async ({ namespace, name }) => view.findPod(namespace, name),
    listPods: async () => bytes(podListText(view.listPods().map(listedPod))),
    listRunningPods: (_, signal) => host.listRunningPods(signal),
    readSummary: async (options, signal) =>
      bytes(JSON.stringify(encodeSummary(await stats.summary(options, signal)), undefined, 1)),
    readMetrics: async ({ page }, signal) => bytes(await pages[page].text(signal)),
    findLog: async (reference, signal) => (await findLog(view, reference, signal))?.path,
    // Another file means that the container was started again since.
    isLogFinished: async ({ path, ...reference }, signal) => {
      const log = await findLog(view, reference, signal);
      return log === undefined || log.path !== path || (await log.finished());
    },
    execUrl: async ({ pod, options }, signal) =>
      String(await view.execUrl(find(pod), options, signal)),
    attachUrl: async ({ pod, options }, signal) =>
      String(await view.attachUrl(find(pod), options, signal)),
    portForwardUrl: async ({ pod, ports }, signal) =>
      String(await host.portForwardUrl(find(pod), ports, signal)),
    runInContainer: async ({ pod, container, command }, signal) =>
      host.runInContainer(find(pod), container, command, signal),
    checkpoint: async ({ pod, container, timeoutSeconds }, signal) =>
      host.checkpoint(find(pod), container, timeoutSeconds, signal),
    readHealth: async () => readHealth(deps.healthChecks),
    reviewToken: ({ token }, signal) => reviewToken(deps.api, token, signal),
    reviewAccess: (spec, signal) => reviewAccess(deps.api, spec, signal),
    takeProfile: async ({ kind, durationMs }, signal) =>
      bytes(await takeProfile(kind, durationMs, signal)),
    setVerbosity: async ({ level }) => deps.verbosity.showDetails(level >= detailsVerbosity),
    record: async (notes) => takeOverNotes(notes, deps),
  };
}

const encoder = new TextEncoder();

function bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Throws when the pod is gone, or another one has its name now. */
function findPod(view: AgentView, { namespace, name, uid }: PodReference): Pod {
  const pod = view.findPod(namespace, name);
  if (pod?.metadata.uid === uid) return pod;
  throw new RuntimeError("findPod", "NotFound", "pod does not exist");
}

async function findLog(
  view: AgentView,
  { pod: { namespace, name, uid }, container, previous }: LogReference,
  signal: AbortSignal,
): Promise<ContainerLog | undefined> {
  const pod = view.findPod(namespace, name);
  return pod?.metadata.uid === uid ? view.findLog(pod, container, previous, signal) : undefined;
}

function readHealth(checks: readonly HealthCheck[]): Readonly<Record<string, string>> {
  const problems: Record<string, string> = {};
  for (const check of checks) {
    const found = check.problem();
    if (found !== undefined) problems[check.name] = found;
  }
  return problems;
}

const reviewed = { metadata: {} } as const;

async function reviewToken(
  api: ApiClient | undefined,
  token: string,
  signal: AbortSignal,
): ReturnType<AgentCalls["reviewToken"]> {
  if (api === undefined) throw new Error("there is no API server to review tokens");
  const apiVersion = "authentication.k8s.io/v1";
  const body = {
    ...reviewed,
    kind: "TokenReview",
    apiVersion,
    spec: { token },
    status: { user: {} },
  };
  const path = `/apis/${apiVersion}/tokenreviews`;
  const { status } = await api.send<TokenReview>({ method: "POST", path, body }, signal);
  return status ?? {};
}

async function reviewAccess(
  api: ApiClient | undefined,
  spec: Parameters<AgentCalls["reviewAccess"]>[0],
  signal: AbortSignal,
): ReturnType<AgentCalls["reviewAccess"]> {
  if (api === undefined) throw new Error("there is no API server to review access");
  const apiVersion = "authorization.k8s.io/v1";
  const status = { allowed: false };
  const body = { ...reviewed, kind: "SubjectAccessReview", apiVersion, spec, status };
  const path = `/apis/${apiVersion}/subjectaccessreviews`;
  const review = await api.send<SubjectAccessReview>({ method: "POST", path, body }, signal);
  return review.status ?? status;
}

/** A profile of the thread that calls this, as the JSON that the developer tools of browsers read. */
async function takeProfile(
  kind: ProfileKind,
  durationMs: number,
  signal: AbortSignal,
): Promise<string> {
  const session = new Session();
  session.connect();
  try {
    if (kind === "heap") {
      await session.post("HeapProfiler.startSampling");
      await sleep(durationMs, signal);
      return JSON.stringify((await session.post("HeapProfiler.stopSampling")).profile);
    }
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await sleep(durationMs, signal);
    return JSON.stringify((await session.post("Profiler.stop")).profile);
  } finally {
    session.disconnect();
  }
}
