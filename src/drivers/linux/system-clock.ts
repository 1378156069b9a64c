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
    // A timer of Node may fire a moment early, but after a sleep its time has passed.
    const endMs = performance.now() + ms;
    let leftMs = Math.max(0, ms);
    do {
      const timerMs = Math.min(Math.ceil(leftMs), MAX_TIMER_MS);
      await delay(timerMs, undefined, { signal }).catch((error: unknown) => {
        signal.throwIfAborted();
        throw error;
      });
      leftMs = endMs - performance.now();
    } while (leftMs > 0);
  },
};
