import type { Sleeper } from "./timers.ts";
import { noLongerNeeded } from "./with-either.ts";

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
      const over = new AbortController();
      const end = (): void => over.abort(noLongerNeeded);
      if (signal.aborted) end();
      signal.addEventListener("abort", end, { once: true });
      this.#wake = end;
      await this.#clock.sleep(ms, over.signal).catch(() => undefined);
      this.#wake = () => undefined;
      signal.removeEventListener("abort", end);
    }
    const reason = this.#isNotified ? "notified" : "timeout";
    this.clear();
    return signal.aborted ? "aborted" : reason;
  }
}
