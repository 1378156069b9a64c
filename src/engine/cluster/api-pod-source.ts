import { errorText } from "../../lib/error-text.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodSource, SourceSink } from "../../ports/pod-source.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

export interface ApiPodSourceDeps
  extends Pick<ReflectorOptions<Pod>, "api" | "clock" | "random" | "log"> {
  readonly nodeName: string;
  /** Resolves when the API server's node is known: admission judges pods by it. */
  readonly whenNodeKnown: (signal: AbortSignal) => Promise<void>;
}

/** The pods that the cluster has bound to this node. */
export function createApiPodSource(deps: ApiPodSourceDeps): PodSource {
  return {
    name: "api",
    run: async (sink, signal) => {
      await deps.whenNodeKnown(signal).catch((error: unknown) => {
        if (!signal.aborted) throw new Error(`cannot wait for the node: ${errorText(error)}`);
      });
      if (!signal.aborted) await followPods(deps, sink, signal);
    },
  };
}

function followPods(
  { api, clock, random, log, nodeName }: ApiPodSourceDeps,
  sink: SourceSink,
  signal: AbortSignal,
): Promise<void> {
  const reflector = new Reflector<Pod>({
    api,
    clock,
    random,
    log,
    path: "/api/v1/pods",
    query: { fieldSelector: `spec.nodeName=${nodeName}` },
    onChange: (pods) =>
      sink.deliver({
        pods: [...pods.values()],
        configMaps: [],
        secrets: [],
        problems: [],
        ignored: [],
      }),
  });
  return reflector.run(signal);
}
