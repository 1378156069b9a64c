import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../../ports/clock.ts";

// What a timer of Node can hold; a longer sleep is made of several.
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    signal.throwIfAborted();
    for (let leftMs = Math.max(0, ms); leftMs >= 0; leftMs -= MAX_TIMER_MS) {
      await delay(Math.min(leftMs, MAX_TIMER_MS), undefined, { signal }).catch((error: unknown) => {
        signal.throwIfAborted();
        throw error;
      });
    }
  },
};
