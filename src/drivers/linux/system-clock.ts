import { sleep, startTimer } from "../../lib/timers.ts";
import type { Clock } from "../../ports/clock.ts";

/** The machine's clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  startTimer: (ms, onTime) => startTimer(ms, onTime),
  sleep: (ms, signal) => sleep(ms, signal),
};
