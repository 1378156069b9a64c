import { objectKey } from "../../core/cluster/object-set.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodSource, SourceSink } from "../../ports/pod-source.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

export interface ApiPodSourceDeps
  extends Pick<ReflectorOptions<Pod>, "api" | "clock" | "random" | "log"> {
  readonly nodeName: string;
  /** This node: admission checks pods against it, so it must be known first. */
  readonly nodes: Pick<Reflector<Node>, "whenSynced">;
}

/** The pods that the cluster has bound to this node. */
export class ApiPodSource implements PodSource {
  readonly name = "api";
  readonly #deps: ApiPodSourceDeps;
  readonly #pods: Reflector<Pod>;
  #sink: SourceSink | undefined;

  constructor(deps: ApiPodSourceDeps) {
    this.#deps = deps;
    this.#pods = new Reflector<Pod>({
      ...deps,
      path: "/api/v1/pods",
      query: { fieldSelector: `spec.nodeName=${deps.nodeName}` },
      sink: {
        deliver: (pods) =>
          this.#sink?.deliver({
            pods: [...pods.values()],
            configMaps: [],
            secrets: [],
            problems: [],
            ignored: [],
          }),
      },
    });
  }

  /** The pod of that name as the API server last reported it. */
  find(pod: Pod): Pod | undefined {
    return this.#pods.items.get(objectKey(pod));
  }

  async run(sink: SourceSink, signal: AbortSignal): Promise<void> {
    this.#sink = sink;
    await this.#deps.nodes.whenSynced(signal).catch((error: unknown) => {
      if (!signal.aborted) throw new Error(`cannot wait for the node: ${errorText(error)}`);
    });
    if (!signal.aborted) await this.#pods.run(signal);
  }
}
