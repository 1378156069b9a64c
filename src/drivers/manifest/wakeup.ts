import { sleep } from "../../lib/timers.ts";
import { withEither } from "../../lib/with-either.ts";

export type WakeReason = "notified" | "timeout" | "aborted";

/** Lets one waiter sleep until it is notified; a notification while nobody waits is kept. */
export class Wakeup {
  #isNotified = false;
  #wake: (() => void) | undefined;

  notify(): void {
    this.#isNotified = true;
    this.#wake?.();
  }

  /** Forgets notifications that came so far. */
  clear(): void {
    this.#isNotified = false;
  }

  async wait(timeoutMs: number, signal: AbortSignal): Promise<WakeReason> {
    if (!this.#isNotified) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      try {
        await withEither([signal, woken.signal], (either) => sleep(timeoutMs, either));
      } catch {
        // Notified or aborted: told apart below.
      } finally {
        this.#wake = undefined;
      }
    }
    if (signal.aborted) return "aborted";
    return this.#isNotified ? "notified" : "timeout";
  }
}

/** Resolves after `ms`, or at once when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, signal);
  } catch {
    // An abort is no error.
  }
}
