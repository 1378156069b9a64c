import type { AdmissionResult } from "../../../core/admission/admission.ts";
import {
  isResize,
  isShrunk,
  resizeOperations,
} from "../../../core/allocation/resize-operations.ts";
import { isTerminalPhase } from "../../../core/status/phase.ts";
import type { Pod } from "../../../model/pod.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Metrics } from "../../../ports/metrics.ts";
import type { Faults } from "../../agent/faults.ts";
import type { AllocationManager, RetryTrigger } from "./allocation-manager.ts";
import type { ResizeStatuses } from "./resize-statuses.ts";
import type { ResourceRecords } from "./resource-records.ts";

const firstRetryMs = 30_000;
const retryMs = 180_000;

export interface PodAllocationsDeps {
  readonly manager: AllocationManager;
  /** What pods were granted. */
  readonly allocated: ResourceRecords;
  /** What was applied to pods. */
  readonly actuated: ResourceRecords;
  readonly resizes: ResizeStatuses;
  readonly clock: Clock;
  readonly faults: Pick<Faults, "attempt">;
  readonly metrics: Metrics;
}

/** The resources of all pods: what they ask for, what they were granted and what they have. */
export class PodAllocations {
  readonly #deps: PodAllocationsDeps;
  readonly #allocated: ResourceRecords;
  readonly #manager: AllocationManager;
  readonly #actuated: ResourceRecords;
  readonly #resizes: ResizeStatuses;
  #retryAtMs: number;
  /** A retry had to wait until every source was ready. */
  #isHeldUp = false;

  constructor(deps: PodAllocationsDeps) {
    this.#deps = deps;
    this.#allocated = deps.allocated;
    this.#manager = deps.manager;
    this.#actuated = deps.actuated;
    this.#resizes = deps.resizes;
    this.#retryAtMs = deps.clock.monotonicMs() + firstRetryMs;
  }

  async load(): Promise<void> {
    await this.#allocated.load();
    await this.#actuated.load();
  }

  /** Writes what could not be written before. */
  async writeAgain(): Promise<void> {
    for (const records of [this.#allocated, this.#actuated]) {
      if (records.hasFailed) await records.flush();
    }
  }

  async flush(): Promise<void> {
    await this.#allocated.flush();
    await this.#actuated.flush();
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
        this.#resizes.backfill([pod]);
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
      this.#resizes.clearPending(uid);
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
