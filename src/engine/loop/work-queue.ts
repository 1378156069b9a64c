import type { Clock } from "../../ports/clock.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";

/** Pods that are due another look: at once, or each at one time that a later one replaces. */
export class WorkQueue {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #due: SliceWriter<"due">;

  constructor(clock: Pick<Clock, "monotonicMs">, table: PodTable) {
    this.#clock = clock;
    this.#due = table.writer("due");
  }

  /** The pod is due at once, and at its time as well. */
  request(uid: string): void {
    this.#due.set(uid, { ...this.#due.get(uid), isRequested: true });
  }

  enqueue(uid: string, delayMs: number): void {
    this.#due.set(uid, { ...this.#due.get(uid), atMs: this.#clock.monotonicMs() + delayMs });
  }

  /** Takes out every pod that was requested or whose time has come. */
  takeDue(): readonly string[] {
    const nowMs = this.#clock.monotonicMs();
    const taken: string[] = [];
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
      : Math.max(0, nextMs - this.#clock.monotonicMs());
  }
}
