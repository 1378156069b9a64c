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

  constructor(deps: WorkQueueDeps, resyncIntervalMs: number = defaultResyncMs) {
    this.#deps = deps;
    this.#due = deps.table.writer("due");
    this.resyncIntervalMs = resyncIntervalMs;
  }

  /** The pod is due at once, and at its time as well. */
  request(uid: PodUid): void {
    this.#due.set(uid, { ...this.#due.get(uid), isRequested: true });
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
    const taken: PodUid[] = [];
    for (const [uid, { atMs = Number.POSITIVE_INFINITY, isRequested }] of this.#due.entries()) {
      const hasCome = atMs <= nowMs;
      if (!hasCome && isRequested !== true) continue;
      taken.push(uid);
      this.#due.set(uid, hasCome || atMs === Number.POSITIVE_INFINITY ? undefined : { atMs });
    }
    return taken;
  }

  /** How long until the next pod is due; undefined when none waits. */
  nextDueInMs(): number | undefined {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [, { atMs = nextMs, isRequested }] of this.#due.entries()) {
      if (isRequested === true) return 0;
      nextMs = Math.min(nextMs, atMs);
    }
    return nextMs === Number.POSITIVE_INFINITY
      ? undefined
      : Math.max(0, nextMs - this.#deps.clock.monotonicMs());
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
