import {
  supportsRecursiveReadOnly,
  wantsRecursiveReadOnly,
} from "../../core/mount/recursive-read-only.ts";
import { resultsOf } from "../../core/probe/results-of.ts";
import { activeDeadlineMs, deadlineExceeded } from "../../core/status/active-deadline.ts";
import { withContainerReady, withContainerStarted } from "../../core/status/container-change.ts";
import { withLastFacts } from "../../core/status/last-facts.ts";
import { nextStatus } from "../../core/status/next-status.ts";
import { computePodStatus, type PodStatusInput } from "../../core/status/pod-status.ts";
import type { ProbeView } from "../../core/status/probed-readiness.ts";
import { terminatedStatus } from "../../core/status/terminated-status.ts";
import { findTerminations } from "../../core/status/terminations.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import { type ContainerId, containerId, type PodUid } from "../../model/ids.ts";
import { findObserved, type ObservedPod } from "../../model/observed.ts";
import { type Pod, podContainers, podKey } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { RuntimeClassStore } from "../../ports/object-store.ts";
import type { ClusterParts } from "../cluster/cluster-parts.ts";
import type { NodeManagers } from "../devices/node-managers.ts";
import { runtimeHandlerOf } from "../execute/runtime-handler.ts";
import { containerTypes, isAboutStart, type StepReport } from "../execute/step-report.ts";
import type { KnownNode } from "../node/known-node.ts";
import type { RuntimeHealth } from "../observe/runtime-health.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodStartMetrics } from "../pods/pod-start-metrics.ts";
import type { KnownStatus, PodTable, SliceWriter } from "../pods/pod-table.ts";
import { probeNow, probeView } from "../probes/probe-view.ts";
import type { ResizeStatuses } from "../resources/allocation/resize-statuses.ts";
import type { NodePodCgroups } from "../resources/pod-cgroups.ts";
import type { FlightRecorder } from "../view/flight-recorder.ts";
import type { StatusCheckpoints } from "./status-checkpoints.ts";

/** What statuses are computed from, beside the pod and what is observed of it. */
interface ComputeStatusDeps {
  readonly clock: Pick<Clock, "nowMs">;
  /** Has what the probes found. */
  readonly table: Pick<PodTable, "get">;
  readonly agentStartedAtMs: number;
  readonly resizes: Pick<ResizeStatuses, "podConditions" | "clearInProgress" | "clearPending">;
  readonly cgroups: Pick<NodePodCgroups, "inForce">;
  readonly node: Pick<KnownNode, "hostIps" | "primaryIpFamily">;
  readonly recorder: Pick<FlightRecorder, "noteDecision">;
  readonly managers: Pick<NodeManagers, "withHealth">;
  readonly health: Pick<RuntimeHealth, "handlers">;
  readonly objects: RuntimeClassStore;
}

export interface PodStatusesDeps {
  readonly table: PodTable;
  readonly registry: Pick<PodRegistry, "get" | "mirrorOf">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "increment">;
  readonly starts: PodStartMetrics;
  /** Reports to the API server; undefined = the node belongs to no cluster. */
  readonly cluster: Pick<ClusterParts, "noteStatus" | "endLife"> | undefined;
  readonly checkpoints: StatusCheckpoints;
  readonly inputs: ComputeStatusDeps;
}

const unknown: KnownStatus = {
  current: undefined,
  version: 0,
  isFinished: false,
  startFailures: new Map(),
};

/**
 * The status of every pod as the node last saw it, of which all others are copies: what is on disk, what is shown, and
 * what the API server has.
 */
export class PodStatuses {
  readonly #deps: PodStatusesDeps;
  readonly #known: SliceWriter<"status">;

  constructor(deps: PodStatusesDeps) {
    this.#deps = deps;
    this.#known = deps.table.writer("status");
  }

  get(uid: PodUid): PodStatus | undefined {
    return this.#known.get(uid)?.current;
  }

  /** From what is observed now, what recently failed and what was known before; recorded with its input. */
  compute(
    pod: Pod,
    observed: ObservedPod,
    { isTerminal }: { readonly isTerminal: boolean },
  ): PodStatus {
    const { clock, table, agentStartedAtMs, resizes, cgroups, node } = this.#deps.inputs;
    const { recorder, managers } = this.#deps.inputs;
    const { uid } = pod.metadata;
    const { probes } = table.get(uid) ?? {};
    const { current: cachedStatus } = this.#known.get(uid) ?? unknown;
    const startFailures = this.#currentFailures(uid, observed);
    const before = cachedStatus ?? pod.status ?? {};
    const deadlineMs = activeDeadlineMs(pod, before);
    const isLate = deadlineMs !== undefined && clock.nowMs() >= deadlineMs;
    // Nothing is resized any more once the pod has ended.
    if (isTerminal) {
      resizes.clearInProgress(uid);
      resizes.clearPending(uid);
    }
    const results = ownResults(probeView(probes, agentStartedAtMs), observed, before);
    const input: PodStatusInput = {
      pod,
      observed,
      cachedStatus,
      isTerminal,
      startFailures,
      probes: withStartupProbes(pod, results),
      eviction: isLate ? deadlineExceeded : undefined,
      resizeConditions: resizes.podConditions(uid),
      // Only of a pod that runs.
      podCgroup: pod.status?.phase === "Running" ? cgroups.inForce(pod) : undefined,
      hostIps: node.hostIps,
      primaryIpFamily: node.primaryIpFamily,
      supportsRecursiveReadOnly: this.#supportsRecursiveReadOnly(pod),
    };
    const outcome = computePodStatus(input);
    recorder.noteDecision({ kind: "status", atMs: clock.nowMs(), input, outcome });
    for (const name of outcome.probeNow) probeNow(probes, name);
    return managers.withHealth(pod, withLastFacts(outcome.status, cachedStatus ?? pod.status));
  }

  #supportsRecursiveReadOnly(pod: Pod): boolean {
    if (!podContainers(pod).some(({ container }) => wantsRecursiveReadOnly(container)))
      return false;
    const { health, objects } = this.#deps.inputs;
    const handler = runtimeHandlerOf(pod, objects);
    return handler.ok && supportsRecursiveReadOnly(handler.value, health.handlers);
  }

  set(pod: Pod, status: PodStatus): void {
    const observedGeneration = pod.metadata.generation;
    // A pod that is being deleted needs its status sent even where it has not changed.
    const force = pod.metadata.deletionTimestamp !== undefined;
    this.#update(pod, { ...status, observedGeneration }, { force, isFinished: false });
  }

  /** Makes the pod's status its last one: every container ended, the phase terminal. */
  terminate(pod: Pod): void {
    const { uid } = pod.metadata;
    const status = terminatedStatus(pod, this.get(uid) ?? pod.status ?? {});
    this.#update(pod, status, { force: true, isFinished: true });
    const known = this.#known.get(uid);
    if (known !== undefined) this.#known.set(uid, { ...known, startFailures: new Map() });
  }

  /** Takes the result of a readiness probe in. Without effect before the pod's first status, or for another container. */
  setReady(uid: PodUid, id: ContainerId, ready: boolean): void {
    this.#change(uid, (pod, status) => withContainerReady(pod, status, id, ready));
  }

  /** Takes the result of a startup probe in, as setReady does. */
  setStarted(uid: PodUid, id: ContainerId, started: boolean): void {
    this.#change(uid, (_, status) => withContainerStarted(status, id, started));
  }

  /** Keeps why containers did not start, until they do. True when a reason is new. */
  noteStarts(uid: PodUid, reports: readonly StepReport[]): boolean {
    const known = this.#known.get(uid) ?? unknown;
    const before = known.startFailures;
    const failures = new Map(before);
    for (const { target, failure } of reports.filter(isAboutStart)) {
      if (failure === undefined) failures.delete(target);
      else failures.set(target, { reason: failure.code, message: failure.message });
    }
    this.#known.set(uid, { ...known, startFailures: failures });
    return [...failures].some(([name, { message }]) => before.get(name)?.message !== message);
  }

  /**
   * The pod's life is over: should it come back under its UID, its status says nothing about the next life. Its end is
   * still reported where it is wanted, and so begins again at once.
   */
  endLife(uid: PodUid): void {
    const { registry, cluster, checkpoints } = this.#deps;
    this.#known.set(uid, undefined);
    checkpoints.endLife(uid);
    if (registry.get(uid) === undefined) cluster?.endLife(uid);
  }

  /** Writes again what could not be written to disk. */
  writeAgain(): void {
    this.#deps.checkpoints.retry();
  }

  /** A start that failed by its deadline may have succeeded in the runtime: a container that runs did start. */
  #currentFailures(uid: PodUid, observed: ObservedPod): KnownStatus["startFailures"] {
    const known = this.#known.get(uid);
    if (known === undefined) return unknown.startFailures;
    const isRunning = (name: string) => findObserved(observed, name)?.state === "running";
    if (![...known.startFailures.keys()].some(isRunning)) return known.startFailures;
    const startFailures = new Map([...known.startFailures].filter(([name]) => !isRunning(name)));
    this.#known.set(uid, { ...known, startFailures });
    return startFailures;
  }

  #change(uid: PodUid, change: (pod: Pod, status: PodStatus) => PodStatus | undefined): void {
    const pod = this.#deps.registry.get(uid);
    const before = this.get(uid);
    const status = pod && before && change(pod, before);
    if (pod === undefined || status === undefined) return;
    this.#update(pod, status, { force: false, isFinished: false });
  }

  #update(
    pod: Pod,
    status: PodStatus,
    { force, isFinished }: { readonly force: boolean; readonly isFinished: boolean },
  ): void {
    const { clock, log } = this.#deps;
    const { uid } = pod.metadata;
    const known = this.#known.get(uid) ?? unknown;
    const cachedStatus = known.current;
    const reportedStatus = this.#reported(pod);
    const nowMs = clock.nowMs();
    const next = nextStatus({ pod, status, cachedStatus, reportedStatus, force, nowMs });
    if (next.kind === "refused") {
      log.error("refused a pod status", { pod: podKey(pod), because: next.because });
    }
    if (next.kind !== "changed") return;
    this.#known.set(uid, {
      current: next.status,
      version: known.version + 1,
      isFinished: isFinished || (known.isFinished && !isStaticPod(pod)),
      startFailures: known.startFailures,
    });
    this.#publish(pod, cachedStatus ?? reportedStatus);
  }

  #publish(pod: Pod, before: PodStatus): void {
    const { metrics, starts, cluster, checkpoints } = this.#deps;
    const { uid } = pod.metadata;
    const { current = {}, isFinished } = this.#known.get(uid) ?? unknown;
    for (const { kind, exitCode, reason } of findTerminations(before, current)) {
      metrics.increment("kubelet_terminated_containers_total", {
        container_type: containerTypes[kind],
        exit_code: String(exitCode),
        reason,
      });
    }
    starts.noteStatus(pod, current);
    cluster?.noteStatus(pod, current, isFinished);
    checkpoints.save(uid, current);
  }

  /** What was reported of the pod before; a static pod's mirror may be there and have no status yet. */
  #reported(pod: Pod): PodStatus {
    const { status: mirrored } = this.#deps.registry.mirrorOf(pod) ?? {};
    return (mirrored?.startTime === undefined ? pod.status : mirrored) ?? {};
  }
}

/** The results that bear on this pod, in a copy that does not change any more. */
function ownResults(view: ProbeView, observed: ObservedPod, before: PodStatus): ProbeView {
  const ids = new Set(observed.containers.map(({ id }) => id));
  for (const { containerID } of [
    ...(before.containerStatuses ?? []),
    ...(before.initContainerStatuses ?? []),
  ]) {
    if (containerID !== undefined) ids.add(containerId(containerID));
  }
  return {
    ...view,
    readinessResults: resultsOf(view.readinessResults, ids),
    startupResults: resultsOf(view.startupResults, ids),
  };
}

/** The first status of an agent's life is made before its probes begin: what has one to pass has not passed it yet. */
function withStartupProbes(pod: Pod, view: ProbeView): ProbeView {
  const names = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]
    .filter(({ startupProbe }) => startupProbe !== undefined)
    .map(({ name }) => name);
  return { ...view, startupProbed: new Set([...view.startupProbed, ...names]) };
}
