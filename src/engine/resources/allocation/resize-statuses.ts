import {
  noResize,
  type ResizeConditions,
  reportedResizes,
  resizePodConditions,
  saysTheSame,
  setInProgress,
  setPending,
} from "../../../core/allocation/resize-conditions.ts";
import type { PodCondition } from "../../../model/generated/kubernetes.ts";
import type { PodUid } from "../../../model/ids.ts";
import type { Pod } from "../../../model/pod.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Metrics } from "../../../ports/metrics.ts";
import type { PodTable, SliceWriter } from "../../pods/pod-table.ts";

const pendingReasons = ["Deferred", "Infeasible"];

/** Where the resizes of every pod stand. */
export class ResizeStatuses {
  readonly #slice: SliceWriter<"resize">;
  readonly #clock: Pick<Clock, "nowMs">;

  constructor(table: PodTable, clock: Pick<Clock, "nowMs">) {
    this.#slice = table.writer("resize");
    this.#clock = clock;
  }

  get(uid: PodUid): ResizeConditions {
    return this.#slice.get(uid) ?? noResize;
  }

  podConditions(uid: PodUid): readonly PodCondition[] {
    return resizePodConditions(this.get(uid));
  }

  isDeferred(uid: PodUid): boolean {
    return this.get(uid).pending?.reason === "Deferred";
  }

  isInfeasible(uid: PodUid): boolean {
    return this.get(uid).pending?.reason === "Infeasible";
  }

  /** True when the reason or the generation is news. */
  setPending(pod: Pod, why: { readonly reason: string; readonly message: string }): boolean {
    const before = this.get(pod.metadata.uid);
    const said = { ...why, observedGeneration: pod.metadata.generation ?? 0 };
    const after = setPending(before, said, this.#clock.nowMs());
    this.#set(pod.metadata.uid, after);
    return (
      before.pending?.reason !== after.pending?.reason ||
      before.pending?.observedGeneration !== after.pending?.observedGeneration
    );
  }

  /** Says that the resize is carried out; with an error, what went wrong. True when that is news. */
  setInProgress(pod: Pod, errorMessage = ""): boolean {
    const before = this.get(pod.metadata.uid);
    const reason = errorMessage === "" ? "" : "Error";
    const said = { reason, message: errorMessage, observedGeneration: generationOf(pod) };
    const after = setInProgress(before, said, this.#clock.nowMs());
    this.#set(pod.metadata.uid, after);
    return after.inProgress !== undefined && !saysTheSame(before.inProgress, after.inProgress);
  }

  clearPending(uid: PodUid): void {
    const { pending, inProgress } = this.get(uid);
    if (pending !== undefined) this.#set(uid, { inProgress });
  }

  /** The generation whose resize is over; undefined when none was in progress. */
  clearInProgress(uid: PodUid): number | undefined {
    const { pending, inProgress } = this.get(uid);
    if (inProgress !== undefined) this.#set(uid, { pending });
    return inProgress?.observedGeneration;
  }

  /** Takes over what pods were reported with before this agent started. */
  backfill(pods: readonly Pod[]): void {
    const nowMs = this.#clock.nowMs();
    for (const pod of pods) {
      const { pending, inProgress } = reportedResizes(pod, nowMs);
      if (pending === undefined && inProgress === undefined) continue;
      const known = this.get(pod.metadata.uid);
      this.#set(pod.metadata.uid, {
        pending: pending ?? known.pending,
        inProgress: inProgress ?? known.inProgress,
      });
    }
  }

  /** Counts the resizes of all pods, for a scrape of the metrics. */
  collect(metrics: Metrics): void {
    const all = [...this.#slice.entries()].map(([, conditions]) => conditions);
    metrics.reset("kubelet_pod_pending_resizes");
    for (const reason of pendingReasons) {
      const count = all.filter(({ pending }) => pending?.reason === reason).length;
      if (count === 0) continue;
      metrics.set("kubelet_pod_pending_resizes", count, { reason: reason.toLowerCase() });
    }
    const inProgress = all.filter((conditions) => conditions.inProgress !== undefined).length;
    metrics.set("kubelet_pod_in_progress_resizes", inProgress);
  }

  #set(uid: PodUid, conditions: ResizeConditions): void {
    const isOver = conditions.pending === undefined && conditions.inProgress === undefined;
    this.#slice.set(uid, isOver ? undefined : conditions);
  }
}

function generationOf(pod: Pod): number {
  return pod.metadata.generation ?? 0;
}
