import { newestOf } from "../../core/cluster/object-set.ts";
import { haveSameAttached } from "../../core/node/node-volumes.ts";
import { isTerminalPhase } from "../../core/status/phase.ts";
import type { CSIDriver, Node, PodStatus } from "../../model/generated/kubernetes.ts";
import type { PodUid } from "../../model/ids.ts";
import { type Pod, podFullName } from "../../model/pod.ts";
import { isMirrorPod, isStaticPod } from "../../model/pod-source.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { AgentPorts, ApiServerPorts } from "../agent/agent-ports.ts";
import type { AgentSettings } from "../agent/agent-settings.ts";
import type { Faults } from "../agent/faults.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { WorkerStates } from "../pods/worker-states.ts";
import { StatusReporter } from "../status/status-reporter.ts";
import { ApiClaims } from "./api-claims.ts";
import { ApiCsiObjects, csiDriverReflector } from "./api-csi-objects.ts";
import { ApiObjects } from "./api-objects.ts";
import { ApiPodCertificates } from "./api-pod-certificates.ts";
import { ApiPodSource } from "./api-pod-source.ts";
import { ApiTrustBundles } from "./api-trust-bundles.ts";
import { defaultClusterSettings } from "./cluster-settings.ts";
import type { EventSender } from "./event-sender.ts";
import { MirrorPods } from "./mirror-pods.ts";
import { Reflector } from "./reflector.ts";
import { ApiServiceAccountTokens } from "./service-account-tokens.ts";

export interface ClusterPartsDeps {
  readonly ports: Pick<AgentPorts, "clock" | "random" | "log" | "metrics"> &
    Pick<ApiServerPorts, "api" | "podKeys"> & { readonly podEvents: PodEvents };
  readonly settings: Pick<AgentSettings, "identity" | "cluster">;
  readonly registry: PodRegistry;
  readonly faults: Pick<Faults, "note">;
  readonly events: EventSender;
  readonly states: WorkerStates;
  readonly sources: SourceReadiness;
  readonly table: PodTable;
  readonly wakeups: Wakeups;
  readonly lifetime: AbortSignal;
}

/** The parts of an agent that is a node of a cluster. */
export class ClusterParts {
  readonly #deps: ClusterPartsDeps;
  readonly #nodes: Reflector<Node>;
  readonly #reporter: StatusReporter;
  readonly #mirrors: MirrorPods;
  /** The node that the API server last answered a report with. */
  #answered: Node | undefined;
  readonly source: ApiPodSource;
  /** What pods refer to. */
  readonly objects: ApiObjects;
  readonly tokens: ApiServiceAccountTokens;
  /** Undefined when volumes may not show them. */
  readonly trustBundles: ApiTrustBundles | undefined;
  /** Undefined when pods have none. */
  readonly podCertificates: ApiPodCertificates | undefined;
  /** Of all CSIDriver objects. */
  readonly csiDrivers: Reflector<CSIDriver>;
  readonly csiObjects: ApiCsiObjects;
  readonly claims: ApiClaims;
  readonly events: EventSender;

  constructor(deps: ClusterPartsDeps) {
    this.#deps = deps;
    this.events = deps.events;
    const { nodeName } = deps.settings.identity;
    let known: Node | undefined;
    this.#nodes = new Reflector<Node>({
      ...deps.ports,
      path: "/api/v1/nodes",
      query: { fieldSelector: `metadata.name=${nodeName}` },
      sink: {
        deliver: () => {
          // A node that was deleted is missed at once.
          if (this.node === undefined) deps.wakeups.updateNode();
          if (!haveSameAttached(known, this.node)) deps.wakeups.lookAtVolumes();
          known = this.node;
          this.lookAtMirrors();
        },
      },
    });
    const shared = { ...deps, ...deps.ports, nodeName, nodes: this.#nodes };
    this.source = new ApiPodSource(shared);
    this.#reporter = new StatusReporter({ ...shared, source: this.source });
    this.#mirrors = new MirrorPods(shared);
    const {
      changeDetection: strategy,
      projectsTrustBundles,
      requestsPodCertificates,
    } = deps.settings.cluster ?? defaultClusterSettings;
    this.objects = new ApiObjects({ ...shared, strategy });
    this.tokens = new ApiServiceAccountTokens(shared);
    this.trustBundles = projectsTrustBundles ? new ApiTrustBundles(shared) : undefined;
    const { podKeys } = deps.ports;
    this.podCertificates =
      requestsPodCertificates && podKeys !== undefined
        ? new ApiPodCertificates({ ...shared, podKeys })
        : undefined;
    this.csiDrivers = csiDriverReflector(shared);
    const storage = { ...shared, csiDrivers: this.csiDrivers };
    this.csiObjects = new ApiCsiObjects(storage);
    this.claims = new ApiClaims(storage);
  }

  /** This node as the API server has it. */
  get node(): Node | undefined {
    const { nodeName } = this.#deps.settings.identity;
    return newestOf(this.#nodes.items.get(nodeName), this.#answered);
  }

  /** The API server has answered with this node. */
  noteAnswered(node: Node): void {
    this.#answered = node;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(
      [this.#nodes, this.objects, this.csiDrivers, this.events].map((part) => part.run(signal)),
    );
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
    if (!this.#reportIfOver(shown)) this.#reporter.reconcile(shown.metadata.uid, pod);
  }

  /** A static pod that ended before this agent or its mirror pod began: nothing else reports it any more. */
  #reportIfOver(pod: Pod): boolean {
    const { metadata, status = {} } = pod;
    const isOver = isTerminalPhase(status.phase) && !this.#reporter.knows(metadata.uid);
    if (isOver) this.#reporter.report(pod, status, true);
    return isOver;
  }

  /** Static pods may have come or gone. */
  lookAtMirrors(): void {
    const { registry } = this.#deps;
    for (const fullName of registry.mirrorableNames()) this.#mirrors.look(fullName);
    for (const pod of registry.list()) if (isStaticPod(pod)) this.#reportIfOver(pod);
  }

  /** Brings what a pod refers to up to date, as far as that is possible in a short time. */
  prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    return this.objects.prepare(pod, signal);
  }

  /** The pod has ended and refers to nothing any more. */
  release(podUid: PodUid): void {
    this.objects.release(podUid);
    this.tokens.release(podUid);
    this.podCertificates?.release(podUid);
  }

  /** The API server knows the status of every pod. */
  get hasReportedAll(): boolean {
    return this.#reporter.isSettled;
  }

  /** The pod's life is over: nothing more is reported of it. */
  endLife(uid: PodUid): void {
    this.#reporter.endLife(uid);
  }
}
