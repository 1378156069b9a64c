import { isTerminalPhase } from "../../core/status/phase.ts";
import type { Node, PodStatus } from "../../model/generated/kubernetes.ts";
import { type Pod, podFullName } from "../../model/pod.ts";
import { isMirrorPod, isStaticPod } from "../../model/pod-source.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { AgentPorts, AgentSettings } from "../agent/agent-ports.ts";
import type { Faults } from "../agent/faults.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import { StatusReporter } from "../status/status-reporter.ts";
import { ApiObjects } from "./api-objects.ts";
import { ApiPodSource } from "./api-pod-source.ts";
import { defaultClusterSettings } from "./cluster-settings.ts";
import { EventSender } from "./event-sender.ts";
import { MirrorPods } from "./mirror-pods.ts";
import { Reflector } from "./reflector.ts";
import { ApiServiceAccountTokens } from "./service-account-tokens.ts";

export interface ClusterPartsDeps {
  readonly api: ApiClient;
  readonly ports: AgentPorts;
  readonly settings: AgentSettings;
  readonly registry: PodRegistry;
  readonly faults: Faults;
  readonly workers: () => Pick<
    PodWorkers,
    "couldHaveRunningContainers" | "isPodForMirrorPodTerminatingByFullName" | "startedStaticPod"
  >;
  readonly sources: SourceReadiness;
  readonly table: PodTable;
  readonly wakeups: Wakeups;
  /** The API server shows this node otherwise than before, or no more. */
  readonly onNodeChange: () => void;
  /** How long the API server took to hear of a status. */
  readonly onStatusSent: (durationMs: number) => void;
  readonly lifetime: AbortSignal;
}

/** The parts of an agent that is a node of a cluster. */
export class ClusterParts {
  readonly #deps: ClusterPartsDeps;
  readonly #nodes: Reflector<Node>;
  readonly #reporter: StatusReporter;
  readonly #mirrors: MirrorPods;
  readonly source: ApiPodSource;
  /** What pods refer to. */
  readonly objects: ApiObjects;
  readonly tokens: ApiServiceAccountTokens;
  readonly events: EventSender;

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
      sink: {
        deliver: () => {
          deps.onNodeChange();
          this.lookAtMirrors();
        },
      },
    });
    this.#reporter = new StatusReporter({
      api,
      clock,
      log,
      faults: deps.faults,
      mirrorOf: (pod) => this.#pictureOf(pod),
      shownPod: (pod) => this.source.find(pod),
      mayHaveRunningContainers: (uid) => workers().couldHaveRunningContainers(uid),
      onSent: deps.onStatusSent,
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
        startedUid: workers().startedStaticPod(fullName),
        mayCome: !deps.sources.areAllHeard,
      }),
      lifetime,
    });
    this.source = new ApiPodSource({
      api,
      clock,
      random,
      log,
      nodeName,
      nodes: this.#nodes,
    });
    this.objects = this.#createObjects();
    this.tokens = new ApiServiceAccountTokens({ api, clock, random, log, table: deps.table });
    this.events = this.#createEvents();
  }

  /** This node as the API server has it. */
  get node(): Node | undefined {
    return this.#nodes.items.get(this.#deps.settings.nodeName);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#nodes.run(signal), this.objects.run(signal), this.events.run(signal)]);
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
    if (shown === undefined) return;
    if (!this.#tellIfOver(shown)) this.#reporter.reconcile(shown.metadata.uid, pod);
  }

  /** A static pod that ended before this agent or its picture began: nobody else tells of it any more. */
  #tellIfOver(pod: Pod): boolean {
    const { metadata, status = {} } = pod;
    const isOver = isTerminalPhase(status.phase) && !this.#reporter.knows(metadata.uid);
    if (isOver) this.#reporter.report(pod, status, true);
    return isOver;
  }

  /** Static pods may have come or gone. */
  lookAtMirrors(): void {
    const { registry } = this.#deps;
    for (const fullName of registry.mirrorableNames()) this.#mirrors.look(fullName);
    for (const pod of registry.list()) if (isStaticPod(pod)) this.#tellIfOver(pod);
  }

  /** Brings what a pod refers to up to date, as far as that is possible in a short time. */
  prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    return this.objects.prepare(pod, signal);
  }

  /** The pod has ended and refers to nothing any more. */
  release(podUid: string): void {
    this.objects.release(podUid);
    this.tokens.release(podUid);
  }

  /** The API server knows every status there is to tell. */
  get hasReportedAll(): boolean {
    return this.#reporter.isSettled;
  }

  /** Forgets all pods but these. */
  keepOnly(uids: ReadonlySet<string>): void {
    this.#reporter.keepOnly(uids);
  }

  // The picture of a static pod that has a successor waits for the successor.
  #pictureOf(pod: Pod): Pod | undefined {
    const { registry } = this.#deps;
    const current = registry.staticPod(podFullName(pod)) ?? pod;
    return current.metadata.uid === pod.metadata.uid ? registry.mirrorOf(pod) : undefined;
  }

  #createObjects(): ApiObjects {
    const { api, ports, settings, table, wakeups, lifetime } = this.#deps;
    const { clock, random, log } = ports;
    const { changeDetection } = settings.cluster ?? defaultClusterSettings;
    return new ApiObjects({
      api,
      clock,
      random,
      log,
      strategy: changeDetection,
      nodes: this.#nodes,
      table,
      wakeups,
      lifetime,
    });
  }

  #createEvents(): EventSender {
    const { ports, settings } = this.#deps;
    const { clock, random, log, uniqueName, eventApi: api = this.#deps.api } = ports;
    const { eventsPerSecond, eventBurst } = settings.cluster ?? defaultClusterSettings;
    return new EventSender({
      api,
      clock,
      random,
      log,
      nodeName: settings.nodeName,
      uniqueName,
      perSecond: eventsPerSecond,
      burst: eventBurst,
    });
  }
}
