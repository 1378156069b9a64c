import { withEither } from "../../lib/with-either.ts";
import type { Clock } from "../../ports/clock.ts";

/** Lets a loop wait for its next turn, or for someone who does not want to. */
export class WakeUp {
  readonly #clock: Clock;
  #isAsked = false;
  #wake: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends the wait, or keeps the next one from waiting. */
  ask(): void {
    this.#isAsked = true;
    this.#wake();
  }

  /** Resolves after `ms`, when asked, or when `signal` aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    if (!this.#isAsked) {
      const sleep = (either: AbortSignal) => this.#clock.sleep(ms, either);
      await withEither([signal, woken.signal], sleep).catch(() => undefined);
    }
    this.#wake = () => undefined;
    this.#isAsked = false;
  }
}
