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

/** What the rest of the agent may ask about the workers of pods. */
export class WorkerStates {
  readonly #table: PodTable;
  /** Every wanted pod was handed to the workers: a pod without a worker is known not to run. */
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
    return couldHaveRunningContainers(this.#state(uid), this.#arePodsSynced);
  }

  shouldPodBeFinished(uid: PodUid): boolean {
    return shouldPodBeFinished(this.#state(uid), this.#arePodsSynced);
  }

  isPodTerminationRequested(uid: PodUid): boolean {
    return isPodTerminationRequested(this.#state(uid));
  }

  shouldPodContainersBeTerminating(uid: PodUid): boolean {
    return shouldPodContainersBeTerminating(this.#state(uid), this.#arePodsSynced);
  }

  shouldPodRuntimeBeRemoved(uid: PodUid): boolean {
    return shouldPodRuntimeBeRemoved(this.#state(uid), this.#arePodsSynced);
  }

  shouldPodContentBeRemoved(uid: PodUid): boolean {
    return shouldPodContentBeRemoved(this.#state(uid), this.#arePodsSynced);
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

  #state(uid: PodUid): WorkerState | undefined {
    return this.#table.get(uid)?.worker?.state;
  }
}
