import { withoutEarlyEnd } from "../../core/status/early-end.ts";
import { wireStatus } from "../../core/status/wire-status.ts";
import { formatTime } from "../../lib/time.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodChange } from "../../ports/agent-view.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Faults } from "../agent/faults.ts";
import { activePulls } from "../images/pod-images.ts";
import type { ManagedPod, PodTable, SliceWriter } from "../pods/pod-table.ts";
import { withPulls, withWait } from "../status/show-waits.ts";

export interface PodChangesDeps {
  readonly table: PodTable;
  readonly clock: Pick<Clock, "nowMs">;
  readonly faults: Pick<Faults, "attempt">;
}

/**
 * The pods of the node as others see them, and those who watch for changes. A pod that was removed stays visible until
 * nothing of it is left, and no status is shown before it is on disk.
 */
export class PodChanges {
  readonly #deps: PodChangesDeps;
  readonly #leaving: SliceWriter<"leaving">;
  readonly #watchers = new Set<(change: PodChange) => void>();

  constructor(deps: PodChangesDeps) {
    this.#deps = deps;
    this.#leaving = deps.table.writer("leaving");
  }

  watch(onChange: (change: PodChange) => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#watchers.add(onChange);
    signal.addEventListener("abort", () => this.#watchers.delete(onChange), { once: true });
  }

  /** The pods that are wanted, and after them those that are leaving; without their status. */
  pods(): readonly Pod[] {
    const all = [...this.#deps.table.all()];
    const wanted = all.flatMap((each) => each.wanted ?? []);
    const leaving = all.flatMap((each) => (each.wanted === undefined ? (each.leaving ?? []) : []));
    return [...wanted, ...leaving];
  }

  /** The pod with its status; one whose status cannot be shown is shown as its source has it. */
  show(pod: Pod): Pod {
    return this.#deps.faults.attempt("view", pod.metadata.uid, () => this.#withStatus(pod)) ?? pod;
  }

  noteAdded(pod: Pod): void {
    this.#leaving.set(pod.metadata.uid, undefined);
    this.#notify("ADDED", pod);
  }

  noteUpdated(pod: Pod): void {
    this.#notify("MODIFIED", this.#leaving.get(pod.metadata.uid) ?? pod);
  }

  /** A status of the pod is on disk, or its image pulls or what it waits for have changed. */
  noteStatus(uid: PodUid): void {
    const { leaving, wanted } = this.#deps.table.get(uid) ?? {};
    const pod = leaving ?? wanted;
    if (pod !== undefined) this.#notify("MODIFIED", pod);
  }

  /** A source does not want the pod any more. */
  noteRemoved(pod: Pod): void {
    const deletionTimestamp = formatTime(this.#deps.clock.nowMs());
    const deletionGracePeriodSeconds = pod.spec.terminationGracePeriodSeconds;
    const metadata = { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds };
    const leaving = { ...pod, metadata };
    this.#leaving.set(pod.metadata.uid, leaving);
    this.#notify("MODIFIED", leaving);
  }

  /** Nothing of the pod is left. */
  noteGone(uid: PodUid): void {
    const leaving = this.#leaving.get(uid);
    if (leaving === undefined) return;
    this.#leaving.set(uid, undefined);
    this.#notify("DELETED", leaving);
  }

  #notify(type: PodChange["type"], pod: Pod): void {
    if (this.#watchers.size === 0) return;
    const change = { type, pod: this.show(pod) };
    for (const watcher of this.#watchers) {
      this.#deps.faults.attempt("view", pod.metadata.uid, () => watcher(change));
    }
  }

  #withStatus(pod: Pod): Pod {
    const managed: Partial<ManagedPod> = this.#deps.table.get(pod.metadata.uid) ?? {};
    const { checkpoint, images } = managed;
    const status = checkpoint?.written ?? pod.status ?? { phase: "Pending" };
    // A pod from a file was never created anywhere: it is as old as its life on this node.
    const creationTimestamp = pod.metadata.creationTimestamp ?? status.startTime;
    return {
      apiVersion: "v1",
      kind: "Pod",
      ...pod,
      metadata: { ...pod.metadata, creationTimestamp },
      status: withPulls(
        wireStatus(withWait(withoutEarlyEnd(status), managed)),
        activePulls(images),
      ),
    };
  }
}
