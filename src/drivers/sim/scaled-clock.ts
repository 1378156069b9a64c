import type { Clock } from "../../ports/clock.ts";

/** Another clock's time from now on, so many times as fast. */
export function scaledClock(clock: Clock, speed: number): Clock {
  const startMs = clock.nowMs();
  const startMonotonicMs = clock.monotonicMs();
  const monotonicMs = (): number => (clock.monotonicMs() - startMonotonicMs) * speed;
  return {
    // Whole, as the machine's own.
    nowMs: () => Math.floor(startMs + monotonicMs()),
    monotonicMs,
    startTimer: (ms, onTime) => clock.startTimer(ms / speed, onTime),
    sleep: (ms, signal) => clock.sleep(ms / speed, signal),
  };
}
