import { onAbort } from "../../src/lib/on-abort.ts";
import type { Clock } from "../../src/ports/clock.ts";
import { type Timer, TimerHeap } from "./timer-heap.ts";

/** Time that stands still until it is moved on. */
export class VirtualClock implements Clock {
  readonly #startMs: number;
  /** Since the start: a wall time is too large a number to hold microseconds. */
  #elapsedMs = 0;
  readonly #timers = new TimerHeap();

  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#startMs = startMs;
  }

  nowMs(): number {
    return this.#startMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const timer = this.startTimer(ms, () => {
        release();
        resolve();
      });
      const release = onAbort(signal, () => {
        timer.stop();
        reject(signal.reason);
      });
    });
  }

  startTimer(ms: number, onTime: () => void): { stop(): void } {
    const timer: Timer = { dueMs: this.#elapsedMs + Math.max(0, ms), wake: onTime };
    this.#timers.add(timer);
    return {
      stop: () => {
        timer.wake = undefined;
      },
    };
  }

  /** Moves time on; what becomes due on the way happens at its own time, in order. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#elapsedMs + ms;
    await settle();
    while (await this.#wakeNext(endMs));
    this.#elapsedMs = endMs;
  }

  /** Moves time on as far as the work needs it to end. */
  async run<T>(work: Promise<T>): Promise<T> {
    const ended = new AbortController();
    const end = (): void => ended.abort();
    work.then(end, end);
    await settle();
    while (!ended.signal.aborted) {
      if (!(await this.#wakeNext(Number.MAX_VALUE))) {
        throw new Error("the work has not ended, and nothing that could end it is due");
      }
    }
    return work;
  }

  /** Moves time on to whatever is due next, again and again; for tests that know only real time. */
  async runFreely(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await settle();
      await this.#wakeNext(Number.MAX_VALUE);
    }
  }

  async #wakeNext(endMs: number): Promise<boolean> {
    const next = this.#timers.takeDue(endMs);
    if (next === undefined) return false;
    this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
    next.wake?.();
    await settle();
    return true;
  }
}

/** A turn of the event loop is dear: one of them serves so many settles. */
const turnsAhead = 64;
let waiting: (() => void)[] = [];
let immediates = 0;

/** Lets everything happen that waits for no time. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (immediates > 0) return;
    immediates = turnsAhead;
    for (let turn = 0; turn < turnsAhead; turn += 1) setImmediate(endTurn);
  });
}

/** Between two immediates Node runs all microtasks and reports rejections, as it does between two turns of its loop. */
function endTurn(): void {
  immediates -= 1;
  const settled = waiting;
  if (settled.length === 0) return;
  waiting = [];
  for (const resolve of settled) resolve();
}
