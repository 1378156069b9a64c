import { withContainerReady, withContainerStarted } from "../../core/status/container-change.ts";
import { nextStatus } from "../../core/status/next-status.ts";
import { terminatedStatus } from "../../core/status/terminated-status.ts";
import { findTerminations } from "../../core/status/terminations.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { ContainerId, PodUid } from "../../model/ids.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { ClusterParts } from "../cluster/cluster-parts.ts";
import { isAboutStart, type StepReport } from "../execute/step-report.ts";
import type { KnownStatus } from "../pods/managed-pod.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodStartMetrics } from "../pods/pod-start-metrics.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";
import { type ComputeStatusDeps, computeStatus } from "./compute-status.ts";
import { containerTypes } from "./container-types.ts";
import type { StatusCheckpoints } from "./status-checkpoints.ts";

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

  compute(pod: Pod, observed: ObservedPod, life: { readonly isTerminal: boolean }): PodStatus {
    const { isTerminal } = life;
    const known = this.#known.get(pod.metadata.uid);
    return computeStatus(this.#deps.inputs, { pod, observed, isTerminal }, known);
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
  setReady(uid: PodUid, containerId: ContainerId, ready: boolean): void {
    const pod = this.#deps.registry.get(uid);
    const status = this.get(uid);
    if (pod === undefined || status === undefined) return;
    this.#change(pod, withContainerReady(pod, status, containerId, ready));
  }

  /** Takes the result of a startup probe in, as setReady does. */
  setStarted(uid: PodUid, containerId: ContainerId, started: boolean): void {
    const pod = this.#deps.registry.get(uid);
    const status = this.get(uid);
    if (pod === undefined || status === undefined) return;
    this.#change(pod, withContainerStarted(status, containerId, started));
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

  #change(pod: Pod, status: PodStatus | undefined): void {
    if (status !== undefined) this.#update(pod, status, { force: false, isFinished: false });
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
