import type { Clock } from "../../ports/clock.ts";

// What a timer of Node can hold; a longer sleep is made of several.
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep,
};

// Most sleeps of the agent are aborted: unlike Node's own, this one makes no error with a stack for that.
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const endMs = performance.now() + ms;
    let timer: NodeJS.Timeout | undefined;
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    // A timer of Node may fire a moment early, but after a sleep its time has passed.
    const wait = (leftMs: number): void => {
      timer = setTimeout(onTimer, Math.min(Math.ceil(leftMs), MAX_TIMER_MS));
    };
    const onTimer = (): void => {
      const leftMs = endMs - performance.now();
      if (leftMs > 0) {
        wait(leftMs);
        return;
      }
      signal.removeEventListener("abort", abort);
      resolve();
    };
    signal.addEventListener("abort", abort, { once: true });
    wait(Math.max(0, ms));
  });
}
