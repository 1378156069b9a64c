import type { AdmissionResult } from "../../../core/admission/admission.ts";
import { infeasibleResize, type ResizeFacts } from "../../../core/allocation/infeasible-resize.ts";
import { specResources, withAllocation } from "../../../core/allocation/pod-allocation.ts";
import { resizeMessage } from "../../../core/allocation/resize-message.ts";
import {
  isResize,
  isShrunk,
  resizeOperations,
} from "../../../core/allocation/resize-operations.ts";
import { sortResizes } from "../../../core/allocation/resize-order.ts";
import type { RuntimeSettings } from "../../../core/cri/runtime-settings.ts";
import { containerSwapBehavior } from "../../../core/cri/swap-limit.ts";
import { isTerminalPhase } from "../../../core/status/phase.ts";
import { deepEqual } from "../../../lib/deep-equal.ts";
import type { PodUid } from "../../../model/ids.ts";
import type { Pod } from "../../../model/pod.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Metrics } from "../../../ports/metrics.ts";
import type { PodEvents } from "../../../ports/pod-events.ts";
import type { Faults } from "../../agent/faults.ts";
import type { Wakeups } from "../../agent/wakeups.ts";
import type { ManagerSettings } from "../../devices/manager-settings.ts";
import type { NodeRoom } from "../../intake/node-room.ts";
import type { SourceReadiness } from "../../intake/source-readiness.ts";
import type { PodTable } from "../../pods/pod-table.ts";
import type { ResizeStatuses } from "./resize-statuses.ts";
import type { PodResourceRecords, ResourceRecords } from "./resource-records.ts";

const firstRetryMs = 30_000;
const retryMs = 180_000;

export interface PodAllocationsDeps
  extends Omit<AllocationManagerDeps, "allocated" | "resizes" | "resizeFacts"> {
  readonly records: PodResourceRecords;
  readonly clock: Clock;
  readonly settings: {
    readonly runtimeSettings: Pick<RuntimeSettings, "swap" | "cgroupVersion">;
    readonly node: { readonly managers: Pick<ManagerSettings, "cpu" | "memory"> };
  };
}

/** The resources of all pods: what they ask for, what they were granted and what they have. */
export class PodAllocations {
  readonly #deps: PodAllocationsDeps;
  readonly #records: PodResourceRecords;
  readonly #manager: AllocationManager;
  #retryAtMs: number;
  /** A retry had to wait until every source was ready. */
  #isHeldUp = false;

  constructor(deps: PodAllocationsDeps) {
    const { records, settings } = deps;
    const { cpu, memory } = settings.node.managers;
    this.#deps = deps;
    this.#records = records;
    this.#manager = new AllocationManager({
      ...deps,
      ...records,
      resizeFacts: {
        cpuManagerPolicy: cpu.name,
        memoryManagerPolicy: memory.name,
        mayUseSwap: (pod, container) =>
          containerSwapBehavior(pod, container, settings.runtimeSettings) !== "NoSwap",
      },
    });
    this.#retryAtMs = deps.clock.monotonicMs() + firstRetryMs;
  }

  async load(): Promise<void> {
    await this.#records.allocated.load();
    await this.#records.actuated.load();
  }

  /** Writes what could not be written before. */
  async writeAgain(): Promise<void> {
    for (const records of [this.#records.allocated, this.#records.actuated]) {
      if (records.hasFailed) await records.flush();
    }
  }

  async flush(): Promise<void> {
    await this.#records.allocated.flush();
    await this.#records.actuated.flush();
  }

  /** The pod with what it was granted. */
  allocatedPod(pod: Pod): Pod {
    return this.#manager.allocatedPod(pod);
  }

  /** Whether the node takes the pod, with what it was granted before or else with what it asks for. */
  admit(pod: Pod): AdmissionResult {
    return this.#manager.add(pod);
  }

  /** The node has the pod, with what it was granted before or else with what it asks for. */
  grant(pod: Pod): void {
    this.#manager.grant(this.allocatedPod(pod));
  }

  /** Pods were added. They may have asked for a resize while no agent ran. */
  noteAdded(pods: readonly Pod[]): void {
    let hasWaiting = false;
    for (const pod of pods) {
      this.#deps.faults.attempt("resize", pod.metadata.uid, () => {
        this.#records.resizes.backfill([pod]);
        if (this.allocatedPod(pod) === pod) return;
        this.#manager.queue(pod.metadata.uid);
        hasWaiting = true;
      });
    }
    if (hasWaiting || this.#isHeldUp) this.#retry("pods_added");
  }

  /** The spec of a pod may have changed. */
  noteUpdated(before: Pod | undefined, pod: Pod): void {
    if (before !== undefined) {
      for (const operation of resizeOperations(before, pod)) {
        this.#deps.metrics.increment("kubelet_container_requested_resizes_total", { ...operation });
      }
      if (!isResize(before, pod)) return;
    }
    const { uid } = pod.metadata;
    if (this.allocatedPod(pod) === pod) {
      // A resize that waited was taken back.
      this.#records.resizes.clearPending(uid);
      return;
    }
    this.#manager.queue(uid);
    this.#retry("pod_updated");
  }

  /** The status of a pod changed: room may have become free. */
  noteStatus(before: Pod, pod: Pod): void {
    if (this.#manager.waiting.length === 0) return;
    if (isTerminalPhase(pod.status?.phase) && !isTerminalPhase(before.status?.phase)) {
      this.#retry("pod_terminated");
    } else if (isShrunk(this.allocatedPod(before), this.allocatedPod(pod))) {
      this.#retry("pod_resized");
    }
  }

  noteRemoved(pods: readonly Pod[]): void {
    for (const { metadata } of pods) this.#manager.remove(metadata.uid);
    this.#retry("pods_removed");
  }

  /** A pod came to its end. */
  noteEnded(): void {
    if (this.#manager.waiting.length > 0) this.#retry("pod_terminated");
  }

  /** Tries resizes that wait again from time to time. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted) {
      const leftMs = this.#retryAtMs - clock.monotonicMs();
      if (leftMs <= 0) this.#retry("periodic_retry");
      else await clock.sleep(leftMs, signal).catch(() => undefined);
    }
  }

  #retry(trigger: RetryTrigger): void {
    this.#isHeldUp = !this.#manager.retry(trigger);
    const delayMs = this.#isHeldUp ? firstRetryMs : retryMs;
    this.#retryAtMs = this.#deps.clock.monotonicMs() + delayMs;
  }
}

/** What made resizes that wait be tried again. */
type RetryTrigger =
  | "pod_resized"
  | "pod_updated"
  | "pods_added"
  | "pods_removed"
  | "pod_terminated"
  | "periodic_retry";

export interface AllocationManagerDeps {
  readonly allocated: ResourceRecords;
  readonly resizes: ResizeStatuses;
  readonly resizeFacts: ResizeFacts;
  readonly room: Pick<NodeRoom, "fits">;
  readonly table: PodTable;
  readonly sources: Pick<SourceReadiness, "areAllReady">;
  readonly wakeups: Pick<Wakeups, "look">;
  readonly events: PodEvents;
  readonly faults: Pick<Faults, "attempt">;
  readonly metrics: Metrics;
}

/**
 * Grants resources to pods: once when they are admitted, and again when they ask for others. A resize that
 * cannot be granted waits, and is tried again when something changed.
 */
export class AllocationManager {
  readonly #deps: AllocationManagerDeps;
  #waiting: readonly PodUid[] = [];

  constructor(deps: AllocationManagerDeps) {
    this.#deps = deps;
  }

  /** The pod with what it was granted; the very same pod when it asks for just that, or was granted nothing. */
  allocatedPod(pod: Pod): Pod {
    return withAllocation(pod, this.#deps.allocated.get(pod.metadata.uid));
  }

  /** Whether the node takes the pod; what it was granted before, it has already. */
  add(pod: Pod): AdmissionResult {
    const allocated = this.allocatedPod(pod);
    const result = this.#deps.room.fits(allocated);
    if (result.admit) this.grant(allocated);
    return result;
  }

  /** Grants all that the spec asks for. */
  grant(pod: Pod): void {
    this.#deps.allocated.set(pod.metadata.uid, specResources(pod));
  }

  remove(uid: PodUid): void {
    this.#deps.allocated.remove(uid);
  }

  get waiting(): readonly PodUid[] {
    return this.#waiting;
  }

  /** Puts a pod that asks for other resources in its place among those that wait. */
  queue(uid: PodUid): void {
    if (this.#waiting.includes(uid)) return;
    const { table, resizes } = this.#deps;
    const waiting = [...this.#waiting, uid].flatMap((other) => {
      const pod = table.get(other)?.wanted;
      if (pod === undefined) return [];
      const sinceMs = resizes.get(other).pending?.changedAtMs;
      return [{ pod, allocated: this.allocatedPod(pod), sinceMs }];
    });
    this.#waiting = sortResizes(waiting).map(({ pod }) => pod.metadata.uid);
  }

  /** Tries all resizes that wait. False when not all sources are ready: what else runs is not yet known. */
  retry(trigger: RetryTrigger): boolean {
    const { sources, table, faults } = this.#deps;
    if (!sources.areAllReady) return false;
    const stillWaiting: PodUid[] = [];
    for (const uid of this.#waiting) {
      const pod = table.get(uid)?.wanted;
      if (pod === undefined) continue;
      if (faults.attempt("resize", uid, () => this.#retryOne(pod, trigger)) ?? true) {
        stillWaiting.push(uid);
      }
    }
    this.#waiting = stillWaiting;
    return true;
  }

  /** Whether it waits still. */
  #retryOne(pod: Pod, trigger: RetryTrigger): boolean {
    const { resizes, wakeups, metrics } = this.#deps;
    const { uid } = pod.metadata;
    const before = resizes.get(uid);
    const granted = this.#tryResize(pod);
    const isDeferred = resizes.isDeferred(uid);
    if (!isDeferred && !resizes.isInfeasible(uid) && before.pending?.reason === "Deferred") {
      metrics.increment("kubelet_pod_deferred_accepted_resizes_total", {
        retry_trigger: trigger,
      });
    }
    if (granted || !deepEqual(before, resizes.get(uid))) wakeups.look(uid);
    return isDeferred;
  }

  #tryResize(pod: Pod): boolean {
    const { resizes, events } = this.#deps;
    const { uid, generation = 0 } = pod.metadata;
    if (this.allocatedPod(pod) === pod) {
      resizes.clearPending(uid);
      return false;
    }
    const result = this.#admitResize(pod);
    if (result.admit) {
      this.grant(pod);
      resizes.clearPending(uid);
      // What went wrong with an earlier resize says nothing about this one.
      resizes.clearInProgress(uid);
      resizes.setInProgress(pod);
      const message = resizeMessage("started", pod, generation);
      events.record(pod, { type: "Normal", reason: "ResizeStarted", message });
      return true;
    }
    const { reason, message } = result;
    if (reason !== "" && resizes.setPending(pod, { reason, message })) {
      events.record(pod, {
        type: "Warning",
        reason: reason === "Infeasible" ? "ResizeInfeasible" : "ResizeDeferred",
        message: resizeMessage(reason, pod, generation, message),
      });
    }
    return false;
  }

  #admitResize(pod: Pod): AdmissionResult {
    const { allocated, resizeFacts, metrics, room } = this.#deps;
    const allocation = allocated.get(pod.metadata.uid) ?? specResources(pod);
    const infeasible = infeasibleResize(pod, allocation, resizeFacts);
    if (infeasible === undefined) return room.fits(pod);
    const { detail, result } = infeasible;
    metrics.increment("kubelet_pod_infeasible_resizes_total", { reason_detail: detail });
    return result;
  }
}
