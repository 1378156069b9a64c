import type { Pod } from "../model/pod.ts";
import type { AgentClient } from "./agent-client.ts";

export interface FollowedPods {
  /** Undefined = all. */
  readonly namespace?: string | undefined;
  readonly query?: { readonly labelSelector?: string | undefined };
}

/** The pods as they are now, and again after every change. */
export async function* followPods(
  client: AgentClient,
  { namespace, query = {} }: FollowedPods,
  signal: AbortSignal,
): AsyncGenerator<readonly Pod[]> {
  for (;;) {
    const { items, resourceVersion } = await client.listPods(namespace, query, signal);
    const pods = new Map(items.map((pod) => [pod.metadata.uid, pod]));
    yield [...pods.values()];
    const changes = client.watchPods(namespace, { ...query, resourceVersion }, signal);
    for await (const { type, pod } of changes) {
      if (type === "DELETED") pods.delete(pod.metadata.uid);
      else pods.set(pod.metadata.uid, pod);
      yield [...pods.values()];
    }
    // A watch ends after a day, and is begun again; an agent that has ended does not answer the list.
  }
}
