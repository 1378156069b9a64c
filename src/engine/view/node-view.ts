import { containerLogPath, podLogsDirectory } from "../../core/paths/log-paths.ts";
import { recordingLines } from "../../core/record/recording.ts";
import { withoutEarlyEnd } from "../../core/status/early-end.ts";
import { wireStatus } from "../../core/status/wire-status.ts";
import { formatTime } from "../../lib/time.ts";
import type { GcItem, GcOptions } from "../../model/gc-item.ts";
import type { EphemeralContainer, Event } from "../../model/generated/kubernetes.ts";
import { findObserved, type ObservedContainer, type ObservedPod } from "../../model/observed.ts";
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
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { SourceProblem } from "../../ports/pod-source.ts";
import type { StatsProvider } from "../../ports/stats.ts";
import type { Faults } from "../agent/faults.ts";
import { rawContainerId } from "../execute/container-id.ts";
import type { ActivePull } from "../images/pod-images.ts";
import type { GarbageCollection } from "../node/garbage-collection.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";
import { awaitedPulls, withPulls } from "../status/show-pulls.ts";
import type { EventLog } from "./event-log.ts";
import type { FlightRecorder } from "./flight-recorder.ts";

export interface NodeViewDeps {
  readonly info: () => AgentInfo;
  readonly clock: Clock;
  readonly registry: PodRegistry;
  readonly workers: PodWorkers;
  readonly statuses: Pick<PodStatuses, "get">;
  readonly recorder: FlightRecorder;
  readonly events: EventLog;
  readonly faults: Pick<Faults, "attempt">;
  readonly activePulls: (uid: string) => readonly ActivePull[];
  readonly runtime: Pick<ContainerRuntime, "exec" | "attach">;
  readonly observedPod: (uid: string) => ObservedPod | undefined;
  readonly problems: () => readonly SourceProblem[];
  readonly ignoredFiles: () => readonly string[];
  readonly podLogsRoot: string;
  readonly setEphemeralContainers: (
    uid: string,
    containers: readonly EphemeralContainer[],
  ) => Promise<void>;
  readonly garbage: Pick<GarbageCollection, "plan" | "collect">;
  readonly stats: StatsProvider;
}

/** The agent as others see it. A pod that was removed stays visible until nothing of it is left. */
export class NodeView implements AgentView {
  readonly #deps: NodeViewDeps;
  readonly #leaving = new Map<string, Pod>();
  readonly #watchers = new Set<(change: PodChange) => void>();

  constructor(deps: NodeViewDeps) {
    this.#deps = deps;
  }

  info(): AgentInfo {
    return this.#deps.info();
  }

  readStats(signal: AbortSignal): Promise<Summary> {
    return this.#deps.stats.summary({}, signal);
  }

  planGc(options: GcOptions, signal: AbortSignal): Promise<readonly GcItem[]> {
    return this.#deps.garbage.plan(options, signal);
  }

  collectGarbage(options: GcOptions, signal: AbortSignal): Promise<readonly GcItem[]> {
    return this.#deps.garbage.collect(options, signal);
  }

  listPods(): readonly Pod[] {
    const wanted = this.#deps.registry.list();
    const uids = new Set(wanted.map(({ metadata }) => metadata.uid));
    const leaving = [...this.#leaving.values()].filter(({ metadata }) => !uids.has(metadata.uid));
    return [...wanted, ...leaving].map((pod) => this.#withStatus(pod));
  }

  // While a pod is replaced by one of its name, the one that is wanted answers to the name.
  findPod(namespace: string, name: string): Pod | undefined {
    return this.listPods().find(
      ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
    );
  }

  watchPods(onChange: (change: PodChange) => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#watchers.add(onChange);
    signal.addEventListener("abort", () => this.#watchers.delete(onChange), { once: true });
  }

  listEvents(podUid?: string): readonly Event[] {
    return this.#deps.events.list(podUid);
  }

  problems(): readonly SourceProblem[] {
    return this.#deps.problems();
  }

  ignoredFiles(): readonly string[] {
    return this.#deps.ignoredFiles();
  }

  async explain(podUid: string): Promise<PodExplanation> {
    const pod = this.listPods().find(({ metadata }) => metadata.uid === podUid);
    if (pod === undefined) throw new Error(`no pod has the UID ${podUid}`);
    const { recorder, workers } = this.#deps;
    return {
      pod,
      workerState: workers.stateOf(podUid) ?? "no worker",
      syncs: await recorder.list(podUid),
      awaiting: [
        ...awaitedPulls(this.#deps.activePulls(podUid)),
        ...awaited(pod, recorder.last(podUid)),
      ],
    };
  }

  recording(podUid?: string): Iterable<string> {
    const { info, recorder } = this.#deps;
    const { version: berthVersion, nodeName } = info();
    return recordingLines({ berthVersion, nodeName }, recorder.decisions(podUid));
  }

  findLog(pod: Pod, container: string, previous: boolean): Promise<ContainerLog | undefined> {
    const { podLogsRoot, observedPod } = this.#deps;
    const { uid } = pod.metadata;
    const id = loggedContainerId(this.#withStatus(pod), container, previous);
    const find = (): ObservedContainer | undefined =>
      observedPod(uid)?.containers.find((observed) => observed.id === id);
    const logged =
      find() ?? (previous ? undefined : findObserved(observedPod(uid) ?? noContainers, container));
    if (logged === undefined) return Promise.resolve(undefined);
    const folder = podLogsDirectory(podLogsRoot, pod.metadata);
    return Promise.resolve({
      path: `${folder}/${containerLogPath(container, logged.restartCount)}`,
      finished: () => {
        const now = observedPod(uid)?.containers.find((observed) => observed.id === logged.id);
        return now === undefined || now.state === "exited";
      },
    });
  }

  async execUrl(pod: Pod, options: ExecOptions, signal: AbortSignal): Promise<URL> {
    const containerId = this.#runningId(pod, options.container);
    const { command, stdin, stdout, stderr, tty } = options;
    const request = { containerId, cmd: command, stdin, stdout, stderr, tty };
    const { url = "" } = await this.#deps.runtime.exec(request, signal);
    return new URL(url);
  }

  async attachUrl(pod: Pod, options: AttachOptions, signal: AbortSignal): Promise<URL> {
    const containerId = this.#runningId(pod, options.container);
    const { stdin, stdout, stderr, tty } = options;
    const request = { containerId, stdin, stdout, stderr, tty };
    const { url = "" } = await this.#deps.runtime.attach(request, signal);
    return new URL(url);
  }

  async setEphemeralContainers(
    pod: Pod,
    ephemeralContainers: readonly EphemeralContainer[],
  ): Promise<Pod> {
    const { uid } = pod.metadata;
    await this.#deps.setEphemeralContainers(uid, ephemeralContainers);
    const changed = { ...pod, spec: { ...pod.spec, ephemeralContainers } };
    this.noteChange("MODIFIED", changed);
    return changed;
  }

  #runningId(pod: Pod, name: string): string {
    const observed = this.#deps.observedPod(pod.metadata.uid) ?? noContainers;
    const container = findObserved(observed, name);
    if (container?.state !== "running") throw new Error(`container ${name} is not running`);
    return rawContainerId(container.id);
  }

  /** A pod is new or has a new status. */
  noteChange(type: "ADDED" | "MODIFIED", pod: Pod): void {
    const { uid } = pod.metadata;
    if (type === "ADDED") this.#leaving.delete(uid);
    const leaving = this.#leaving.get(uid);
    const shown = this.#withStatus(leaving ?? pod);
    // The status is forgotten before the last of the pod is gone.
    if (leaving !== undefined) this.#leaving.set(uid, shown);
    this.#tell({ type, pod: shown });
  }

  /** A source does not want the pod any more. */
  noteRemoved(pod: Pod): void {
    const deletionTimestamp = formatTime(this.#deps.clock.nowMs());
    const deletionGracePeriodSeconds = pod.spec.terminationGracePeriodSeconds;
    const metadata = { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds };
    const leaving = this.#withStatus({ ...pod, metadata });
    this.#leaving.set(pod.metadata.uid, leaving);
    this.#tell({ type: "MODIFIED", pod: leaving });
  }

  /** Pods that were removed, and of which nothing is left now. */
  forgetGone(isLeft: (uid: string) => boolean): readonly string[] {
    const gone = [...this.#leaving.values()].filter(({ metadata }) => !isLeft(metadata.uid));
    for (const pod of gone) {
      this.#leaving.delete(pod.metadata.uid);
      this.#tell({ type: "DELETED", pod: this.#withStatus(pod) });
    }
    return gone.map(({ metadata }) => metadata.uid);
  }

  #tell(change: PodChange): void {
    for (const watcher of this.#watchers) {
      this.#deps.faults.attempt("view", change.pod.metadata.uid, () => watcher(change));
    }
  }

  /** One whose status cannot be shown is shown as its source has it. */
  #withStatus(pod: Pod): Pod {
    const { faults } = this.#deps;
    return faults.attempt("view", pod.metadata.uid, () => this.#tryWithStatus(pod)) ?? pod;
  }

  #tryWithStatus(pod: Pod): Pod {
    const status = this.#deps.statuses.get(pod.metadata.uid) ?? pod.status;
    // A pod from a file was never created anywhere: it is as old as its life on this node.
    const creationTimestamp = pod.metadata.creationTimestamp ?? status?.startTime;
    return {
      apiVersion: "v1",
      kind: "Pod",
      ...pod,
      metadata: { ...pod.metadata, creationTimestamp },
      status: withPulls(
        wireStatus(withoutEarlyEnd(status ?? { phase: "Pending" })),
        this.#deps.activePulls(pod.metadata.uid),
      ),
    };
  }
}

const noContainers: ObservedPod = {
  uid: "",
  name: "",
  namespace: "",
  ips: [],
  containers: [],
  sandboxes: [],
  activeContainerIds: [],
};

/** The run whose log is meant: one that waits to start again has only the last one. */
function loggedContainerId(
  { status = {} }: Pod,
  name: string,
  previous: boolean,
): string | undefined {
  const found = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ].find((container) => container.name === name);
  const last = found?.lastState?.terminated?.containerID;
  if (previous) return last;
  return found?.state?.waiting === undefined ? found?.containerID : last;
}

function awaited(pod: Pod, last: PodExplanation["syncs"][number] | undefined): Awaited[] {
  const waits = (last?.steps ?? [])
    .filter(({ outcome }) => outcome !== "done")
    .map(({ action, detail, untilMs }) => ({ what: `to ${action}: ${detail ?? ""}`, untilMs }));
  if (last?.error !== undefined) waits.push({ what: last.error, untilMs: undefined });
  const notReady = (pod.status?.containerStatuses ?? [])
    .filter(({ state, ready }) => state?.running !== undefined && !ready)
    .map(({ name }) => ({ what: `container ${name} to become ready`, untilMs: undefined }));
  return [...waits, ...notReady];
}
