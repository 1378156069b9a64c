import { activeDeadlineMs } from "../../core/status/active-deadline.ts";
import { type Requeue, requeueDelayMs } from "../../core/worker/requeue.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";

const defaultResyncMs = 60_000;
const failureBackoffMs = 10_000;

export interface WorkQueueDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly table: PodTable;
  readonly wakeups: Pick<Wakeups, "lookAtQueue">;
}

/** Pods that are due another look: at once, or each at one time that a later one replaces. */
export class WorkQueue {
  readonly #deps: WorkQueueDeps;
  readonly #due: SliceWriter<"due">;
  readonly resyncIntervalMs: number;
  /** UIDs of the pods that were requested, so that nothing else of the table has to be looked at. */
  #requested: PodUid[] = [];
  /** No pod's time comes before this; a pod that was given a later time since may leave it too early. */
  #nextDueMs = Number.POSITIVE_INFINITY;

  constructor(deps: WorkQueueDeps, resyncIntervalMs: number = defaultResyncMs) {
    this.#deps = deps;
    this.#due = deps.table.writer("due");
    this.resyncIntervalMs = resyncIntervalMs;
  }

  /** The pod is due at once, and at its time as well. */
  request(uid: PodUid): void {
    const due = this.#due.get(uid);
    if (due?.isRequested === true) return;
    this.#due.set(uid, { ...due, isRequested: true });
    this.#requested.push(uid);
  }

  /** All wanted pods are due at once. */
  requestAll(): void {
    for (const { uid, wanted } of this.#deps.table.all()) {
      if (wanted !== undefined) this.request(uid);
    }
  }

  /** After so long, or when the pod's active deadline ends before. */
  enqueue(uid: PodUid, delayMs: number): void {
    const { clock, wakeups } = this.#deps;
    const atMs = clock.monotonicMs() + Math.min(delayMs, this.#untilDeadlineMs(uid));
    this.#due.set(uid, { ...this.#due.get(uid), atMs });
    this.#nextDueMs = Math.min(this.#nextDueMs, atMs);
    wakeups.lookAtQueue();
  }

  requeue(uid: PodUid, requeue: Requeue): void {
    const { clock, random } = this.#deps;
    const settings = { resyncIntervalMs: this.resyncIntervalMs, backoffMs: failureBackoffMs };
    this.enqueue(uid, requeueDelayMs(requeue, settings, clock.nowMs(), random()));
  }

  /** Takes out every pod that was requested or whose time has come. */
  takeDue(): readonly PodUid[] {
    const nowMs = this.#deps.clock.monotonicMs();
    return [...this.#takeRequested(nowMs), ...this.#takeTimed(nowMs)];
  }

  #takeRequested(nowMs: number): readonly PodUid[] {
    const requested = this.#requested;
    this.#requested = [];
    return requested.filter((uid) => {
      const { atMs = Number.POSITIVE_INFINITY, isRequested } = this.#due.get(uid) ?? {};
      // The pod was forgotten since.
      if (isRequested !== true) return false;
      const hasTime = atMs > nowMs && atMs < Number.POSITIVE_INFINITY;
      this.#due.set(uid, hasTime ? { atMs } : undefined);
      return true;
    });
  }

  #takeTimed(nowMs: number): readonly PodUid[] {
    if (nowMs < this.#nextDueMs) return [];
    const taken: PodUid[] = [];
    this.#nextDueMs = Number.POSITIVE_INFINITY;
    for (const [uid, { atMs = Number.POSITIVE_INFINITY }] of this.#due.entries()) {
      if (atMs > nowMs) this.#nextDueMs = Math.min(this.#nextDueMs, atMs);
      else {
        taken.push(uid);
        this.#due.set(uid, undefined);
      }
    }
    return taken;
  }

  /** How long until a pod may be due; undefined when none waits. */
  nextDueInMs(): number | undefined {
    if (this.#requested.length > 0) return 0;
    if (this.#nextDueMs === Number.POSITIVE_INFINITY) return undefined;
    return Math.max(0, this.#nextDueMs - this.#deps.clock.monotonicMs());
  }

  #untilDeadlineMs(uid: PodUid): number {
    const { table, clock } = this.#deps;
    const { wanted, status } = table.get(uid) ?? {};
    const deadlineMs = wanted && activeDeadlineMs(wanted, status?.current ?? wanted.status ?? {});
    const leftMs = (deadlineMs ?? Number.POSITIVE_INFINITY) - clock.nowMs();
    // One that has passed is acted on already.
    return leftMs > 0 ? leftMs : Number.POSITIVE_INFINITY;
  }
}
