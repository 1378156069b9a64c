import type { AgentClient } from "../cli/agent-client.ts";
import { followPods } from "../cli/follow-pods.ts";
import { awaitedText } from "../cli/why/awaited-text.ts";
import { timeoutSignal } from "../lib/timers.ts";
import type { Pod } from "../model/pod.ts";
import type { PodExplanation } from "../ports/agent-view.ts";
import type { PodCondition, WaitOptions } from "./api.ts";
import { PodWaitError } from "./berth-error.ts";
import { asked } from "./client-errors.ts";

export interface PodPlace {
  readonly client: AgentClient;
  readonly namespace: string;
  /** Its own, which ends with that of the node: one that only begins so is another pod. */
  readonly name: string;
}

const defaultTimeoutMs = 60_000;
const explanationMs = 5_000;

/** The pod when it is as wanted; for "gone" as it was last seen. */
export async function waitForPod(
  place: PodPlace,
  condition: PodCondition,
  { timeoutMs = defaultTimeoutMs, signal }: WaitOptions,
): Promise<Pod | undefined> {
  const timeout = timeoutSignal(timeoutMs);
  const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  let last: Pod | undefined;
  try {
    return await asked(async () => {
      for await (const pods of followPods(place.client, { namespace: place.namespace }, either)) {
        const pod = newestNamed(pods, place.name);
        last = pod ?? last;
        const state = judge(condition, pod);
        if (state === "met") return last;
        if (state === "impossible")
          throw await explained(place, last, `cannot ${wordsOf(condition)} any more`);
      }
      return last;
    }, either);
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    if (!timeout.aborted) throw error;
    throw await explained(place, last, `did not ${wordsOf(condition)} within ${timeoutMs / 1000}s`);
  }
}

/** While a pod is replaced by one of its name, the one that stays counts. */
function newestNamed(pods: readonly Pod[], name: string): Pod | undefined {
  const named = pods.filter(({ metadata }) => metadata.name === name);
  return named.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? named[0];
}

function judge(condition: PodCondition, pod: Pod | undefined): "met" | "open" | "impossible" {
  if (condition === "gone") return pod === undefined ? "met" : "open";
  if (pod === undefined) return "open";
  if (typeof condition === "function") return condition(pod) ? "met" : "open";
  const phase = pod.status?.phase;
  const isOver = phase === "Succeeded" || phase === "Failed";
  if (!isOver) return condition === "ready" && isReady(pod) ? "met" : "open";
  if (condition === "finished") return "met";
  return condition === phase.toLowerCase() ? "met" : "impossible";
}

function isReady({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True";
}

function wordsOf(condition: PodCondition): string {
  switch (condition) {
    case "ready":
      return "become ready";
    case "succeeded":
      return "succeed";
    case "failed":
      return "fail";
    case "finished":
      return "finish";
    case "gone":
      return "go away";
    default:
      return "become what was waited for";
  }
}

async function explained(
  { client, namespace, name }: PodPlace,
  seen: Pod | undefined,
  outcome: string,
): Promise<PodWaitError> {
  // The time may have been over before the first look.
  const pod =
    seen ??
    (await client.readPod(namespace, name, timeoutSignal(explanationMs)).catch(() => undefined));
  const shown = `pod ${namespace}/${pod?.metadata.name ?? name}`;
  if (pod === undefined) {
    const message = `${shown} ${outcome}: there is no such pod`;
    return new PodWaitError(message, undefined, undefined);
  }
  const explanation = await explain(client, pod);
  const nowMs = client.agentTime(Date.now());
  const state =
    explanation === undefined ? "nothing is known of it" : awaitedText(explanation, nowMs);
  return new PodWaitError(`${shown} ${outcome}: ${state}`, pod, explanation);
}

/** The error is about the pod, also where the node cannot say more. */
async function explain(
  client: AgentClient,
  { metadata }: Pod,
): Promise<PodExplanation | undefined> {
  return client.explain(metadata.uid, timeoutSignal(explanationMs)).catch(() => undefined);
}
