import { onAbort } from "./on-abort.ts";
import type { TimerStarter } from "./timers.ts";

export type WakeReason = "notified" | "timeout" | "aborted";

/** Lets one loop wait for its next turn, and others end that wait; a notification without a waiter is kept. */
export class WakeUp {
  readonly #clock: TimerStarter;
  #isNotified = false;
  #wake: () => void = nothing;

  constructor(clock: TimerStarter) {
    this.#clock = clock;
  }

  /** Ends the wait in progress, or keeps the next one from waiting. */
  notify(): void {
    this.#isNotified = true;
    this.#wake();
  }

  /** Clears a notification that came without a waiter. */
  clear(): void {
    this.#isNotified = false;
  }

  /** Resolves after `ms`, when notified, or when `signal` aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<WakeReason> {
    if (!this.#isNotified && !signal.aborted) await this.#rest(ms, signal);
    const reason = this.#isNotified ? "notified" : "timeout";
    this.clear();
    return signal.aborted ? "aborted" : reason;
  }

  #rest(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.stop();
        release();
        this.#wake = nothing;
        resolve();
      };
      const timer = this.#clock.startTimer(ms, end);
      const release = onAbort(signal, end);
      this.#wake = end;
    });
  }
}

function nothing(): void {}
