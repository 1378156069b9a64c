import { nodeConditions } from "../../core/node/node-conditions.ts";
import { recordingLines } from "../../core/record/recording.ts";
import type { GcItem, GcOptions } from "../../model/gc-item.ts";
import type {
  EphemeralContainer,
  Event,
  Node,
  NodeCondition,
} from "../../model/generated/kubernetes.ts";
import type { NodeDescription, NodeImage, RehearsedPod } from "../../model/holding.ts";
import { type PodUid, rawContainerId } from "../../model/ids.ts";
import { emptyObservedPod, findObserved, type ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { Summary } from "../../model/stats-summary.ts";
import type {
  AgentInfo,
  AgentView,
  AttachOptions,
  Awaited,
  ContainerLog,
  ExecOptions,
  PodChange,
  PodExplanation,
} from "../../ports/agent-view.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime, ImageService } from "../../ports/container-runtime.ts";
import type { HistoryView } from "../../ports/history.ts";
import type { Log } from "../../ports/log.ts";
import type { SourceProblem } from "../../ports/pod-source.ts";
import type { StatsProvider } from "../../ports/stats.ts";
import type { SyncRecord } from "../../ports/sync-record.ts";
import type { AgentSettings } from "../agent/agent-settings.ts";
import { activePulls } from "../images/pod-images.ts";
import type { SourceIntake } from "../intake/source-intake.ts";
import type { GarbageCollection } from "../node/garbage-collection.ts";
import type { Observer } from "../observe/observer.ts";
import type { RuntimeHealth } from "../observe/runtime-health.ts";
import type { PodMemory } from "../pods/pod-memory.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { EvictionManager } from "../resources/eviction/eviction-manager.ts";
import { awaitedEnd, awaitedPulls, awaitedStart, awaitedVolumes } from "../status/show-waits.ts";
import type { StorageManager } from "../volumes/storage-manager.ts";
import { ContainerLogs } from "./container-logs.ts";
import type { EventLog } from "./event-log.ts";
import type { NodeResources } from "./node-resources.ts";
import type { PodChanges } from "./pod-changes.ts";

/** As a node reports them to a cluster. */
const maxImageNames = 5;

/** Who knows something of single pods. */
interface PodKnowledge {
  readonly table: PodTable;
  readonly changes: PodChanges;
  readonly events: EventLog;
  readonly memory: Pick<PodMemory, "recorder" | "ephemeral">;
  readonly storage: Pick<StorageManager, "awaited">;
  readonly resources: Pick<NodeResources, "holdings" | "describe" | "rehearse">;
}

export interface NodeViewDeps extends PodKnowledge {
  readonly ports: {
    readonly clock: Clock;
    readonly runtime: Pick<
      ContainerRuntime,
      "exec" | "attach" | "portForward" | "containerStatus"
    > &
      Pick<ImageService, "listImages">;
    readonly log: Log;
  };
  readonly settings: Pick<AgentSettings, "identity" | "runtimeSettings">;
  readonly observer: Pick<Observer, "mode">;
  readonly intake: Pick<SourceIntake, "problems" | "ignoredFiles" | "restoreAgain">;
  readonly history: HistoryView;
  readonly garbage: Pick<GarbageCollection, "plan" | "collect">;
  readonly stats: Pick<StatsProvider, "summary">;
  readonly health: Pick<RuntimeHealth, "report">;
  readonly eviction: Pick<EvictionManager, "pressures">;
}

/** The agent as others see it. */
export class NodeView implements AgentView {
  readonly #deps: NodeViewDeps;
  readonly #startedAtMs: number;
  readonly #logs: ContainerLogs;

  constructor(deps: NodeViewDeps) {
    this.#deps = deps;
    this.#logs = new ContainerLogs({ ...deps, ...deps.ports });
    this.#startedAtMs = deps.ports.clock.nowMs();
  }

  info(): AgentInfo {
    const { settings, observer } = this.#deps;
    const { version, nodeName, runtimeName, runtimeVersion, runtimeEndpoint } = settings.identity;
    return {
      version,
      nodeName,
      runtime: `${runtimeName} ${runtimeVersion}`,
      runtimeEndpoint,
      observer: observer.mode,
      startedAtMs: this.#startedAtMs,
    };
  }

  readStats(signal: AbortSignal): Promise<Summary> {
    return this.#deps.stats.summary({}, signal);
  }

  describeNode(): NodeDescription {
    const description = this.#deps.resources.describe();
    const { conditions = [] } = description.node.status ?? {};
    return {
      ...description,
      conditions: conditions.length > 0 ? conditions : this.#conditions(description.node),
    };
  }

  async listImages(signal: AbortSignal): Promise<readonly NodeImage[]> {
    const images = await this.#deps.ports.runtime.listImages(signal);
    return images
      .map(({ repoTags = [], repoDigests = [], size }) => ({
        names: [...repoTags, ...repoDigests].slice(0, maxImageNames),
        sizeBytes: Number(size ?? 0n),
      }))
      .toSorted((a, b) => b.sizeBytes - a.sizeBytes);
  }

  /** Of a node that no API server knows. */
  #conditions({ metadata, status }: Node): readonly NodeCondition[] {
    const { settings, health, eviction } = this.#deps;
    const { pressures } = eviction;
    const { conditions } = nodeConditions({
      nodeName: metadata?.name ?? settings.identity.nodeName,
      previous: [],
      health: {
        memoryPressure: pressures.includes("MemoryPressure"),
        diskPressure: pressures.includes("DiskPressure"),
        pidPressure: pressures.includes("PIDPressure"),
        problems: health.report.problems,
        softProblem: "",
      },
      capacity: status?.capacity,
      localStorageCapacityIsolation: false,
      now: "",
    });
    // Since when they are so is not kept.
    return conditions.map(({ type, status, reason, message }) => ({
      type,
      status,
      reason,
      message,
    }));
  }

  rehearse(pods: readonly Pod[]): Promise<readonly RehearsedPod[]> {
    return this.#deps.resources.rehearse(pods);
  }

  planGc(options: GcOptions, signal: AbortSignal): Promise<readonly GcItem[]> {
    return this.#deps.garbage.plan(options, signal);
  }

  collectGarbage(options: GcOptions, signal: AbortSignal): Promise<readonly GcItem[]> {
    return this.#deps.garbage.collect(options, signal);
  }

  listPods(): readonly Pod[] {
    const { changes } = this.#deps;
    return changes.pods().map((pod) => changes.show(pod));
  }

  // While a pod is replaced by one of its name, the one that is wanted answers to the name.
  findPod(namespace: string, name: string): Pod | undefined {
    const { changes } = this.#deps;
    const found = changes
      .pods()
      .find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
    return found === undefined ? undefined : changes.show(found);
  }

  watchPods(onChange: (change: PodChange) => void, signal: AbortSignal): void {
    this.#deps.changes.watch(onChange, signal);
  }

  listEvents(podUid?: PodUid): readonly Event[] {
    return this.#deps.events.list(podUid);
  }

  problems(): readonly SourceProblem[] {
    return this.#deps.intake.problems;
  }

  ignoredFiles(): readonly string[] {
    return this.#deps.intake.ignoredFiles;
  }

  get history(): HistoryView {
    return this.#deps.history;
  }

  async explain(podUid: PodUid, signal: AbortSignal): Promise<PodExplanation> {
    const { ports, table, changes, memory, storage, resources } = this.#deps;
    const found = changes.pods().find(({ metadata }) => metadata.uid === podUid);
    if (found === undefined) throw new Error(`no pod has the UID ${podUid}`);
    const pod = changes.show(found);
    const { recorder } = memory;
    const managed = table.get(podUid);
    const { worker, images } = managed ?? {};
    const ends = awaitedEnd(managed, ports.clock);
    return {
      pod,
      workerState: worker?.state.state ?? "no worker",
      holds: resources.holdings(pod),
      syncs: await recorder.list(podUid, signal),
      awaiting: [
        ...awaitedStart(worker?.waitsFor),
        ...awaitedVolumes(storage.awaited(podUid)),
        ...awaitedPulls(activePulls(images)),
        ...ends,
        ...awaitedSteps(recorder.last(podUid)),
        ...(ends.length === 0 ? awaitedReadiness(pod) : []),
      ],
    };
  }

  recording(podUid?: PodUid): Iterable<string> {
    const { settings, memory } = this.#deps;
    const { version: berthVersion, nodeName } = settings.identity;
    return recordingLines({ berthVersion, nodeName }, memory.recorder.decisions(podUid));
  }

  findLog(
    pod: Pod,
    container: string,
    previous: boolean,
    signal: AbortSignal,
  ): Promise<ContainerLog | undefined> {
    return this.#logs.find(pod, container, previous, signal);
  }

  async execUrl(pod: Pod, options: ExecOptions, signal: AbortSignal): Promise<URL> {
    const containerId = this.#runningId(pod, options.container);
    const { command, stdin, stdout, stderr, tty } = options;
    const request = { containerId, cmd: command, stdin, stdout, stderr, tty };
    const { url = "" } = await this.#deps.ports.runtime.exec(request, signal);
    return new URL(url);
  }

  async attachUrl(pod: Pod, options: AttachOptions, signal: AbortSignal): Promise<URL> {
    const containerId = this.#runningId(pod, options.container);
    const { stdin, stdout, stderr, tty } = options;
    const request = { containerId, stdin, stdout, stderr, tty };
    const { url = "" } = await this.#deps.ports.runtime.attach(request, signal);
    return new URL(url);
  }

  async portForwardUrl(pod: Pod, port: readonly number[], signal: AbortSignal): Promise<URL> {
    const sandbox = this.#observed(pod).sandboxes.find(({ state }) => state === "ready");
    if (sandbox === undefined) throw new Error(`pod ${pod.metadata.name} is not running`);
    const request = { podSandboxId: sandbox.id, port };
    const { url = "" } = await this.#deps.ports.runtime.portForward(request, signal);
    return new URL(url);
  }

  watchSyncs(onSync: (record: SyncRecord) => void, signal: AbortSignal): void {
    this.#deps.memory.recorder.watch(onSync, signal);
  }

  async setEphemeralContainers(
    pod: Pod,
    ephemeralContainers: readonly EphemeralContainer[],
  ): Promise<Pod> {
    const { memory, intake, changes } = this.#deps;
    await memory.ephemeral.set(pod.metadata.uid, ephemeralContainers);
    intake.restoreAgain();
    const changed = { ...pod, spec: { ...pod.spec, ephemeralContainers } };
    changes.noteUpdated(changed);
    return changed;
  }

  #runningId(pod: Pod, name: string): string {
    const container = findObserved(this.#observed(pod), name);
    if (container?.state !== "running") throw new Error(`container ${name} is not running`);
    return rawContainerId(container.id);
  }

  #observed({ metadata: { uid, name, namespace } }: Pod): ObservedPod {
    return this.#deps.table.get(uid)?.observed?.state ?? emptyObservedPod(uid, name, namespace);
  }
}

function awaitedSteps(last: PodExplanation["syncs"][number] | undefined): readonly Awaited[] {
  const waits = (last?.steps ?? [])
    .filter(({ outcome }) => outcome !== "done")
    .map(({ action, detail, untilMs }) => ({ what: `to ${action}: ${detail ?? ""}`, untilMs }));
  return last?.error === undefined ? waits : [...waits, { what: last.error }];
}

function awaitedReadiness({ status }: Pod): readonly Awaited[] {
  return (status?.containerStatuses ?? [])
    .filter(({ state, ready }) => state?.running !== undefined && !ready)
    .map(({ name }) => ({ what: `container ${name} to become ready` }));
}
