import {
  couldHaveRunningContainers,
  isPodKnownTerminated,
  isPodTerminationRequested,
  shouldPodBeFinished,
  shouldPodContainersBeTerminating,
  shouldPodContentBeRemoved,
  shouldPodRuntimeBeRemoved,
  workerFacts,
} from "../../core/worker/worker-queries.ts";
import type { WorkerState } from "../../core/worker/worker-state.ts";
import type { PodUid } from "../../model/ids.ts";
import type { PodTable } from "./pod-table.ts";
import { inRuntime } from "./start-gate.ts";

/** What the rest of the agent may ask about the workers of pods. */
export class WorkerStates {
  readonly #table: PodTable;
  /** Every wanted pod was handed to the workers: one without a worker runs only if the runtime has something of it. */
  #arePodsSynced = false;

  constructor(table: PodTable) {
    this.#table = table;
  }

  noteSynced(): void {
    this.#arePodsSynced = true;
  }

  /** Where the pod is in its life; undefined when it has no worker. */
  of(uid: PodUid): WorkerState["state"] | undefined {
    return this.#state(uid)?.state;
  }

  /** It has a worker that does not wait for the pod to be allowed to start. */
  isAtWork(uid: PodUid): boolean {
    const { worker } = this.#table.get(uid) ?? {};
    return worker !== undefined && worker.waitsFor === undefined;
  }

  isPodKnownTerminated(uid: PodUid): boolean {
    return isPodKnownTerminated(this.#state(uid));
  }

  couldHaveRunningContainers(uid: PodUid): boolean {
    return couldHaveRunningContainers(this.#state(uid), this.#isStoppedWithoutWorker(uid));
  }

  shouldPodBeFinished(uid: PodUid): boolean {
    return shouldPodBeFinished(this.#state(uid), this.#isStoppedWithoutWorker(uid));
  }

  isPodTerminationRequested(uid: PodUid): boolean {
    return isPodTerminationRequested(this.#state(uid));
  }

  shouldPodContainersBeTerminating(uid: PodUid): boolean {
    return shouldPodContainersBeTerminating(this.#state(uid), this.#isStoppedWithoutWorker(uid));
  }

  shouldPodRuntimeBeRemoved(uid: PodUid): boolean {
    return shouldPodRuntimeBeRemoved(this.#state(uid), this.#isStoppedWithoutWorker(uid));
  }

  /** Never while something of the pod runs or may run, which would write into a log that is gone. */
  shouldPodContentBeRemoved(uid: PodUid): boolean {
    if (this.#mayRun(uid)) return false;
    return shouldPodContentBeRemoved(this.#state(uid), this.#arePodsSynced);
  }

  /**
   * Logs of a pod that the agent knows and that has no worker are removed with all else that the pod left, for which its
   * next life waits.
   */
  shouldPodLogsBeCollected(uid: PodUid): boolean {
    const pod = this.#table.get(uid);
    if (pod !== undefined && pod.worker === undefined) return false;
    return this.shouldPodContentBeRemoved(uid);
  }

  /** What it left is being removed, from the runtime too. */
  isBeingRemoved(uid: PodUid): boolean {
    return this.#table.get(uid)?.removal?.state === "running";
  }

  /** A static pod of that full name is terminating, so its mirror pod must stay. */
  isPodForMirrorPodTerminatingByFullName(fullName: string): boolean {
    const uid = this.startedStaticPod(fullName);
    return uid !== undefined && this.of(uid) === "terminating";
  }

  /** The static pod that holds the full name: it has begun and not ended. */
  startedStaticPod(fullName: string): PodUid | undefined {
    for (const { uid, worker } of this.#table.all()) {
      if (worker?.state.fullName !== fullName) continue;
      const { hasBegun, isStatic } = workerFacts(worker.state, worker.arrival);
      if (hasBegun && isStatic) return uid;
    }
    return undefined;
  }

  /** Whether the pod is known not to run if it has no worker. */
  #isStoppedWithoutWorker(uid: PodUid): boolean {
    return this.#arePodsSynced && !this.#mayRun(uid);
  }

  /** What the runtime lists and cannot describe gets no worker, and may run all the same. */
  #mayRun(uid: PodUid): boolean {
    const pod = this.#table.get(uid);
    return pod !== undefined && inRuntime(pod) !== "nothing-runs";
  }

  #state(uid: PodUid): WorkerState | undefined {
    return this.#table.get(uid)?.worker?.state;
  }
}
