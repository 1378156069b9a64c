import type { Clock } from "../../ports/clock.ts";

/** Pods that are due another look, each at one time; a later entry for a pod replaces the earlier one. */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #dueAtMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  enqueue(uid: string, delayMs: number): void {
    this.#dueAtMs.set(uid, this.#clock.monotonicMs() + delayMs);
  }

  /** Takes out every pod whose time has come. */
  takeDue(): string[] {
    const nowMs = this.#clock.monotonicMs();
    const due = [...this.#dueAtMs].filter(([, atMs]) => atMs <= nowMs).map(([uid]) => uid);
    for (const uid of due) this.#dueAtMs.delete(uid);
    return due;
  }

  /** How long until the next pod is due; undefined when none waits. */
  nextDueInMs(): number | undefined {
    if (this.#dueAtMs.size === 0) return undefined;
    return Math.max(0, Math.min(...this.#dueAtMs.values()) - this.#clock.monotonicMs());
  }
}
