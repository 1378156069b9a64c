import { SimHistory } from "../../src/drivers/sim/sim-history.ts";
import { PodTable } from "../../src/engine/pods/pod-table.ts";
import type { GcItem, GcOptions } from "../../src/model/gc-item.ts";
import type { EphemeralContainer, Event } from "../../src/model/generated/kubernetes.ts";
import type { NodeDescription, NodeImage, RehearsedPod } from "../../src/model/holding.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { Summary } from "../../src/model/stats-summary.ts";
import type {
  AgentInfo,
  AgentView,
  AttachOptions,
  ContainerLog,
  ExecOptions,
  PodChange,
  PodExplanation,
} from "../../src/ports/agent-view.ts";
import type { HistoryView } from "../../src/ports/history.ts";
import type { SourceProblem } from "../../src/ports/pod-source.ts";
import type { SyncRecord } from "../../src/ports/sync-record.ts";
import { testHistory } from "../kit/test-history.ts";

const fits: RehearsedPod = { holdings: [], makesRoom: [] };

/** An agent that holds what a test puts into it. */
export class InMemoryAgentView implements AgentView {
  readonly pods: Map<string, Pod> = new Map();
  readonly logs: Map<string, ContainerLog> = new Map();
  readonly explanations: Map<string, PodExplanation> = new Map();
  readonly execs: ExecOptions[] = [];
  readonly attaches: AttachOptions[] = [];
  readonly portForwards: (readonly number[])[] = [];
  readonly syncWatchers: Set<(record: SyncRecord) => void> = new Set();
  events: readonly Event[] = [];
  /** Images go only when all is asked for. */
  garbage: readonly GcItem[] = [];
  stats: Summary = { node: { nodeName: "node-1", startTimeMs: 0 }, pods: [] };
  node: NodeDescription = {
    node: { metadata: { name: "node-1" } },
    policies: { cpu: "none", memory: "None", topology: "none", topologyScope: "none" },
    resources: [],
    holdings: [],
  };
  images: readonly NodeImage[] = [];
  /** By the names of pods; others fit and get nothing of their own. */
  readonly rehearsed: Map<string, RehearsedPod> = new Map();
  sourceProblems: readonly SourceProblem[] = [];
  streamingUrl: URL = new URL("http://127.0.0.1:1/exec/token");
  /** What happened, as tests put it there. */
  readonly historyStore: SimHistory = new SimHistory();
  readonly table: PodTable = new PodTable();
  readonly history: HistoryView = testHistory(this.table, this.historyStore);
  readonly #watchers = new Set<(change: PodChange) => void>();

  put(pod: Pod): void {
    const type = this.pods.has(pod.metadata.uid) ? "MODIFIED" : "ADDED";
    this.pods.set(pod.metadata.uid, pod);
    for (const notify of this.#watchers) notify({ type, pod });
  }

  remove(uid: string): void {
    const pod = this.pods.get(uid);
    if (pod === undefined) return;
    this.pods.delete(uid);
    for (const notify of this.#watchers) notify({ type: "DELETED", pod });
  }

  info(): AgentInfo {
    return {
      version: "0.0.0-test",
      nodeName: "node-1",
      runtime: "containerd 1.6.20",
      runtimeEndpoint: "unix:///run/test.sock",
      observer: "containerd",
      startedAtMs: 1_700_000_000_000,
    };
  }

  listPods(): readonly Pod[] {
    return [...this.pods.values()];
  }

  findPod(namespace: string, name: string): Pod | undefined {
    return this.listPods().find(
      ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
    );
  }

  watchPods(onChange: (change: PodChange) => void, signal: AbortSignal): void {
    this.#watchers.add(onChange);
    signal.addEventListener("abort", () => this.#watchers.delete(onChange));
  }

  listEvents(podUid?: string): readonly Event[] {
    return this.events.filter(
      ({ involvedObject }) => podUid === undefined || involvedObject.uid === podUid,
    );
  }

  describeNode(): NodeDescription {
    return this.node;
  }

  listImages(): Promise<readonly NodeImage[]> {
    return Promise.resolve(this.images);
  }

  rehearse(pods: readonly Pod[]): Promise<readonly RehearsedPod[]> {
    return Promise.resolve(pods.map(({ metadata }) => this.rehearsed.get(metadata.name) ?? fits));
  }

  readStats(): Promise<Summary> {
    return Promise.resolve(this.stats);
  }

  planGc({ all }: GcOptions): Promise<readonly GcItem[]> {
    return Promise.resolve(this.garbage.filter(({ kind }) => all || kind !== "image"));
  }

  async collectGarbage(options: GcOptions): Promise<readonly GcItem[]> {
    const items = await this.planGc(options);
    this.garbage = this.garbage.filter((item) => !items.includes(item));
    return items;
  }

  problems(): readonly SourceProblem[] {
    return this.sourceProblems;
  }

  ignoredFiles(): readonly string[] {
    return [];
  }

  explain(podUid: string): Promise<PodExplanation> {
    const explanation = this.explanations.get(podUid);
    if (explanation === undefined)
      return Promise.reject(new Error(`nothing recorded of ${podUid}`));
    return Promise.resolve(explanation);
  }

  recording(podUid?: string): Iterable<string> {
    return ["{}", ...(podUid === undefined ? this.pods.keys() : [podUid])];
  }

  findLog(pod: Pod, container: string, previous: boolean): Promise<ContainerLog | undefined> {
    const suffix = previous ? "/previous" : "";
    return Promise.resolve(this.logs.get(`${pod.metadata.name}/${container}${suffix}`));
  }

  execUrl(_: Pod, request: ExecOptions): Promise<URL> {
    this.execs.push(request);
    return Promise.resolve(this.streamingUrl);
  }

  attachUrl(_: Pod, request: AttachOptions): Promise<URL> {
    this.attaches.push(request);
    return Promise.resolve(this.streamingUrl);
  }

  portForwardUrl(_: Pod, ports: readonly number[]): Promise<URL> {
    this.portForwards.push(ports);
    return Promise.resolve(this.streamingUrl);
  }

  watchSyncs(onSync: (record: SyncRecord) => void, signal: AbortSignal): void {
    this.syncWatchers.add(onSync);
    signal.addEventListener("abort", () => this.syncWatchers.delete(onSync));
  }

  setEphemeralContainers(
    pod: Pod,
    ephemeralContainers: readonly EphemeralContainer[],
  ): Promise<Pod> {
    const changed = { ...pod, spec: { ...pod.spec, ephemeralContainers } };
    this.put(changed);
    return Promise.resolve(changed);
  }
}
