import type { SourceUpdate } from "../../core/source/merge-source.ts";
import { hasOutdatedReadiness } from "../../core/status/outdated-readiness.ts";
import type { PodUpdateType } from "../../core/worker/pod-update.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { isMirrorPod } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ClusterParts } from "../cluster/cluster-parts.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodStartMetrics } from "../pods/pod-start-metrics.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { WorkerStates } from "../pods/worker-states.ts";
import type { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import type { PodChanges } from "../view/pod-changes.ts";
import type { PodAdmission } from "./pod-admission.ts";
import type { SourceReadiness } from "./source-readiness.ts";

export interface PodUpdatesDeps {
  readonly registry: PodRegistry;
  readonly sources: SourceReadiness;
  readonly admission: Pick<PodAdmission, "admit">;
  readonly allocations: Pick<
    PodAllocations,
    "noteAdded" | "noteUpdated" | "noteStatus" | "noteRemoved"
  >;
  readonly workers: Pick<PodWorkers, "updatePod">;
  readonly states: Pick<WorkerStates, "isPodTerminationRequested" | "isAtWork">;
  readonly starts: Pick<PodStartMetrics, "noteNewPod">;
  readonly changes: Pick<PodChanges, "noteAdded" | "noteUpdated" | "noteRemoved">;
  /** Undefined = the node belongs to no cluster. */
  readonly cluster: Pick<ClusterParts, "noteShown"> | undefined;
  readonly clock: Pick<Clock, "monotonicMs">;
}

/** Takes what the sources want into the table, admits new pods, and hands the updates to the pods' workers. */
export class PodUpdates {
  readonly #deps: PodUpdatesDeps;

  constructor(deps: PodUpdatesDeps) {
    this.#deps = deps;
  }

  take(op: SourceUpdate["op"], pod: Pod): void {
    if (op === "REMOVE") {
      this.#remove(pod);
      return;
    }
    const { registry, cluster, changes, allocations, starts } = this.#deps;
    const before = registry.get(pod.metadata.uid);
    registry.set(pod);
    cluster?.noteShown(pod);
    if (isMirrorPod(pod)) return;
    switch (op) {
      case "ADD":
        starts.noteNewPod(pod);
        changes.noteAdded(pod);
        if (this.#isAdmitted(pod)) this.#dispatch(pod, "create");
        return;
      case "UPDATE":
      case "DELETE":
        changes.noteUpdated(pod);
        allocations.noteUpdated(before, pod);
        this.#dispatch(pod, "update");
        return;
      case "RECONCILE":
        if (before !== undefined) allocations.noteStatus(before, pod);
        if (hasOutdatedReadiness(pod)) this.#dispatch(pod, "sync");
        return;
    }
  }

  /** All pods of the update were taken. */
  noteHandled({ op, source, pods }: SourceUpdate): void {
    const { sources, allocations } = this.#deps;
    sources.noteHandled(source);
    const real = pods.filter((pod) => !isMirrorPod(pod));
    if (op === "ADD") allocations.noteAdded(real);
    else if (op === "REMOVE") allocations.noteRemoved(real);
  }

  /** One that was not admitted has no worker, and is left as it is; one that waits is asked by itself. */
  sync(uid: PodUid): void {
    const { registry, states } = this.#deps;
    const pod = registry.get(uid);
    if (pod !== undefined && states.isAtWork(uid)) this.#dispatch(pod, "sync");
  }

  #dispatch(pod: Pod, updateType: PodUpdateType): void {
    const { workers, registry, clock } = this.#deps;
    const requestedAtMs = clock.monotonicMs();
    workers.updatePod({ updateType, pod, mirrorPod: registry.mirrorOf(pod), requestedAtMs });
  }

  #remove(pod: Pod): void {
    const { registry, workers, changes, cluster } = this.#deps;
    registry.remove(pod);
    if (isMirrorPod(pod)) {
      cluster?.noteShown(pod);
      return;
    }
    workers.updatePod({ updateType: "kill", pod });
    changes.noteRemoved(pod);
  }

  /** One that still ends is asked when it begins again. */
  #isAdmitted(pod: Pod): boolean {
    const { states, admission } = this.#deps;
    return states.isPodTerminationRequested(pod.metadata.uid) || admission.admit(pod);
  }
}
