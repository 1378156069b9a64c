import type { Sleeper } from "./timers.ts";
import { noLongerNeeded, withEither } from "./with-either.ts";

export type WakeReason = "notified" | "timeout" | "aborted";

/** Lets one loop wait for its next turn, and others end that wait; a notification without a waiter is kept. */
export class WakeUp {
  readonly #clock: Sleeper;
  #isNotified = false;
  #wake: () => void = () => undefined;

  constructor(clock: Sleeper) {
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
    if (!this.#isNotified) {
      const woken = new AbortController();
      this.#wake = () => woken.abort(noLongerNeeded);
      const sleep = (either: AbortSignal) => this.#clock.sleep(ms, either);
      await withEither([signal, woken.signal], sleep).catch(() => undefined);
      this.#wake = () => undefined;
    }
    const reason = this.#isNotified ? "notified" : "timeout";
    this.clear();
    return signal.aborted ? "aborted" : reason;
  }
}
