import type { AdmissionFailure } from "../../core/devices/topology/allocation-error.ts";
import { errorText } from "../../lib/error-text.ts";
import type { PodUid } from "../../model/ids.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Faults } from "../agent/faults.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { ActivePods } from "../pods/active-pods.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";
import type { ManagerMetrics } from "./manager-metrics.ts";
import type { NodeManagers } from "./node-managers.ts";

export interface DeviceAdmissionDeps {
  readonly table: PodTable;
  readonly managers: Pick<
    NodeManagers,
    "concerns" | "lacks" | "admit" | "release" | "isReleaseDue"
  >;
  readonly active: Pick<ActivePods, "has">;
  readonly managerMetrics: Pick<ManagerMetrics, "noteAdmission">;
  readonly faults: Pick<Faults, "note">;
  readonly wakeups: Pick<Wakeups, "askToStart">;
  readonly clock: Pick<Clock, "sleep" | "monotonicMs">;
  readonly log: Log;
  readonly lifetime: AbortSignal;
}

const retryMs = 1000;

/**
 * Hands out to pods what they get for themselves, one pod after the other. That may take a while, and the caller does not wait: the start gate
 * holds the pod back meanwhile.
 */
export class DeviceAdmission {
  readonly #deps: DeviceAdmissionDeps;
  readonly #slice: SliceWriter<"devices">;
  #last: Promise<void> = Promise.resolve();

  constructor(deps: DeviceAdmissionDeps) {
    this.#deps = deps;
    this.#slice = deps.table.writer("devices");
  }

  /** `refuse` is called when the pod cannot have what it asks for, before it may start. */
  admit(pod: Pod, refuse: (failure: AdmissionFailure) => void): void {
    if (!this.#concerns(pod)) return;
    this.#slice.set(pod.metadata.uid, { isAwaited: true });
    this.#ask(pod, refuse);
  }

  #ask(pod: Pod, refuse: (failure: AdmissionFailure) => void): void {
    const { managers, active, wakeups } = this.#deps;
    const { uid } = pod.metadata;
    this.#queue(uid, async () => {
      const failure = await this.#handOut(pod);
      // It may have gone while its devices were handed out.
      if (failure !== undefined || !active.has(uid)) await managers.release(uid);
      if (failure !== undefined) {
        if (this.#isWorthWaiting(uid)) return this.#askLater(pod, refuse);
        refuse(failure);
      }
      this.#slice.set(uid, undefined);
      wakeups.askToStart();
    });
  }

  /** Pods that are about to end have what it lacks: the pod that it replaces, or those that make room for it. */
  #isWorthWaiting(uid: PodUid): boolean {
    const { managers, table } = this.#deps;
    const { roomFrom = [] } = table.get(uid)?.admission ?? {};
    return roomFrom.length > 0 || managers.isReleaseDue();
  }

  #askLater(pod: Pod, refuse: (failure: AdmissionFailure) => void): void {
    const { clock, lifetime } = this.#deps;
    clock.sleep(retryMs, lifetime).then(
      () => this.#ask(pod, refuse),
      () => undefined,
    );
  }

  /** The pod runs already: it keeps what it has, and goes on also when it cannot get what it lacks. */
  adopt(pod: Pod): void {
    if (!this.#concerns(pod)) return;
    this.#queue(pod.metadata.uid, async () => {
      const failure = await this.#handOut(pod);
      if (failure === undefined) return;
      this.#deps.log.warn("a pod that runs here goes on without what it asks for", {
        pod: podKey(pod),
        ...failure,
      });
    });
  }

  /** The pod is about to start: it gets again what the end of a former life of it took back meanwhile. */
  async complete(pod: Pod): Promise<AdmissionFailure | undefined> {
    if (!this.#deps.managers.lacks(pod)) return undefined;
    let failure: AdmissionFailure | undefined;
    this.#queue(pod.metadata.uid, async () => {
      failure = await this.#handOut(pod);
    });
    await this.#last;
    return failure;
  }

  /** Resolves when everything asked for so far was handed out or refused. */
  async idle(): Promise<void> {
    await this.#last;
  }

  /** A kubelet admits the others too, at once. */
  #concerns(pod: Pod): boolean {
    const { managers, managerMetrics } = this.#deps;
    if (managers.concerns(pod)) return true;
    managerMetrics.noteAdmission(pod, undefined, 0);
    return false;
  }

  #queue(uid: PodUid, work: () => Promise<void>): void {
    this.#last = this.#last
      .then(work)
      .catch((error: unknown) => this.#deps.faults.note(error, "admission", uid));
  }

  async #handOut(pod: Pod): Promise<AdmissionFailure | undefined> {
    const { managers, active, faults, managerMetrics, clock } = this.#deps;
    const { uid } = pod.metadata;
    // It ended while it waited for its turn.
    if (!active.has(uid)) return undefined;
    try {
      const beganMs = clock.monotonicMs();
      const failure = await managers.admit(pod);
      managerMetrics.noteAdmission(pod, failure, clock.monotonicMs() - beganMs);
      return failure;
    } catch (error) {
      faults.note(error, "admission", uid);
      const message = `Unexpected error while attempting to admit the pod: ${errorText(error)}`;
      return { reason: "UnexpectedAdmissionError", message };
    }
  }
}
