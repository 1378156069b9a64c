import type { Node, PodStatus } from "../../model/generated/kubernetes.ts";
import { type Pod, podFullName } from "../../model/pod.ts";
import { isMirrorPod, isStaticPod } from "../../model/pod-source.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { PodSource } from "../../ports/pod-source.ts";
import type { AgentPorts, AgentSettings } from "../agent-ports.ts";
import type { PodRegistry } from "../pod-registry.ts";
import type { PodWorkers } from "../pod-workers.ts";
import { createApiPodSource } from "./api-pod-source.ts";
import { MirrorPods } from "./mirror-pods.ts";
import { Reflector } from "./reflector.ts";
import { StatusReporter } from "./status-reporter.ts";

export interface ClusterPartsDeps {
  readonly api: ApiClient;
  readonly ports: AgentPorts;
  readonly settings: AgentSettings;
  readonly registry: PodRegistry;
  readonly workers: () => Pick<
    PodWorkers,
    "couldHaveRunningContainers" | "isPodForMirrorPodTerminatingByFullName"
  >;
  readonly lifetime: AbortSignal;
}

/** The parts of an agent that is a node of a cluster. */
export class ClusterParts {
  readonly #deps: ClusterPartsDeps;
  readonly #nodes: Reflector<Node>;
  readonly #reporter: StatusReporter;
  readonly #mirrors: MirrorPods;
  readonly source: PodSource;

  constructor(deps: ClusterPartsDeps) {
    this.#deps = deps;
    const { api, registry, workers, lifetime } = deps;
    const { clock, random, log } = deps.ports;
    const { nodeName } = deps.settings;
    this.#nodes = new Reflector<Node>({
      api,
      clock,
      random,
      log,
      path: "/api/v1/nodes",
      query: { fieldSelector: `metadata.name=${nodeName}` },
      onChange: () => this.lookAtMirrors(),
    });
    this.#reporter = new StatusReporter({
      api,
      clock,
      log,
      mirrorOf: (pod) => registry.mirrorOf(pod),
      mayHaveRunningContainers: (uid) => workers().couldHaveRunningContainers(uid),
      lifetime,
    });
    this.#mirrors = new MirrorPods({
      api,
      clock,
      log,
      node: () => this.node,
      find: (fullName) => ({
        pod: registry.staticPod(fullName),
        mirror: registry.mirror(fullName),
        isEnding: workers().isPodForMirrorPodTerminatingByFullName(fullName),
      }),
      lifetime,
    });
    this.source = createApiPodSource({
      api,
      clock,
      random,
      log,
      nodeName,
      whenNodeKnown: (signal) => this.#nodes.whenSynced(signal),
    });
  }

  /** This node as the API server has it. */
  get node(): Node | undefined {
    return this.#nodes.items.get(this.#deps.settings.nodeName);
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#nodes.run(signal);
  }

  /** The node has a new status of a pod. */
  noteStatus(pod: Pod, status: PodStatus, isFinished: boolean): void {
    this.#reporter.report(pod, status, isFinished);
    if (isStaticPod(pod)) this.#mirrors.look(podFullName(pod));
  }

  /** The API server shows a pod like this. */
  noteShown(pod: Pod): void {
    if (!isMirrorPod(pod)) {
      this.#reporter.reconcile(pod.metadata.uid, pod);
      return;
    }
    const fullName = podFullName(pod);
    this.#mirrors.look(fullName);
    const shown = this.#deps.registry.staticPod(fullName);
    if (shown !== undefined) this.#reporter.reconcile(shown.metadata.uid, pod);
  }

  /** Static pods may have come or gone. */
  lookAtMirrors(): void {
    for (const fullName of this.#deps.registry.mirrorableNames()) this.#mirrors.look(fullName);
  }

  /** Forgets all pods but these. */
  keepOnly(uids: ReadonlySet<string>): void {
    this.#reporter.keepOnly(uids);
  }
}
