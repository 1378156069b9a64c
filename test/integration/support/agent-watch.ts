import type { AgentClient } from "../../../src/cli/agent-client.ts";
import type { Pod } from "../../../src/model/pod.ts";
import type { PodChange } from "../../../src/ports/agent-view.ts";

const defaultTimeoutMs = 120_000;

/** The pod of that name as soon as it is as wanted; rejects with its last status when that takes too long. */
export async function waitForPod(
  client: AgentClient,
  name: string,
  isReached: (pod: Pod) => boolean,
  timeoutMs: number = defaultTimeoutMs,
): Promise<Pod> {
  const signal = AbortSignal.timeout(timeoutMs);
  const query = { fieldSelector: `metadata.name=${name}` };
  let last: Pod | undefined;
  try {
    for await (const { type, pod } of client.watchPods(undefined, query, signal)) {
      if (type !== "DELETED" && isReached(pod)) return pod;
      last = pod;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  const status = last === undefined ? "no such pod appeared" : JSON.stringify(last.status, null, 1);
  throw new Error(`pod ${name} did not get as wanted within ${timeoutMs} ms: ${status}`);
}

/** Resolves with the pod's last state when the agent says that nothing of it is left. */
export async function waitUntilGone(
  client: AgentClient,
  uid: string,
  timeoutMs: number = defaultTimeoutMs,
): Promise<Pod | undefined> {
  const signal = AbortSignal.timeout(timeoutMs);
  const query = { fieldSelector: `metadata.uid=${uid}` };
  const { items, resourceVersion } = await client.listPods(undefined, query, signal);
  let [last] = items;
  if (last === undefined) return undefined;
  try {
    const changes = client.watchPods(undefined, { ...query, resourceVersion }, signal);
    for await (const { type, pod } of changes) {
      if (type === "DELETED") return pod;
      last = pod;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  throw new Error(
    `pod ${last.metadata.name} is not gone after ${timeoutMs} ms: ${JSON.stringify(last)}`,
  );
}

/** Every change of pods from now on. */
export class PodChanges {
  readonly list: PodChange[] = [];
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(client: AgentClient) {
    this.#done = this.#follow(client);
  }

  async stop(): Promise<readonly PodChange[]> {
    this.#stop.abort();
    await this.#done;
    return this.list;
  }

  async #follow(client: AgentClient): Promise<void> {
    const { signal } = this.#stop;
    try {
      for await (const change of client.watchPods(undefined, {}, signal)) this.list.push(change);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

export function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some(
    (condition) => condition.type === "Ready" && condition.status === "True",
  );
}

/** Restarts of the pod's container of that name; -1 when it has no status. */
export function restartsOf({ status }: Pod, container = "main"): number {
  const found = (status?.containerStatuses ?? []).find(({ name }) => name === container);
  return found?.restartCount ?? -1;
}
