import type { Sleeper } from "./timers.ts";
import { noLongerNeeded, withEither } from "./with-either.ts";

/** Thrown when something took longer than it may. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/**
 * Runs `work` with a signal that also aborts after `ms`, with an error that says what took too long. Work that has
 * come far enough cancels its deadline.
 */
export async function withDeadline<T>(
  clock: Sleeper,
  limit: { readonly ms: number; readonly what: string },
  signal: AbortSignal,
  work: (signal: AbortSignal, cancelDeadline: () => void) => Promise<T>,
): Promise<T> {
  const bounded = new AbortController();
  const timer = new AbortController();
  const cancelDeadline = (): void => timer.abort(noLongerNeeded);
  const giveUp = (): void => {
    bounded.abort(signal.reason);
    cancelDeadline();
  };
  const whenLate = (): Promise<never> =>
    new Promise((_resolve, reject) => {
      const expire = (): void => {
        const error = new DeadlineError(`${limit.what} took longer than ${limit.ms / 1000} s`);
        bounded.abort(error);
        reject(error);
      };
      clock.sleep(limit.ms, timer.signal).then(expire, () => undefined);
    });
  if (signal.aborted) giveUp();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    // Work that ignores its signal must not hold up the one who waits for it.
    return await Promise.race([work(bounded.signal, cancelDeadline), whenLate()]);
  } catch (error) {
    // What else the work has begun is not needed any more, and would otherwise go on beside the next try.
    bounded.abort(noLongerNeeded);
    throw error;
  } finally {
    signal.removeEventListener("abort", giveUp);
    cancelDeadline();
  }
}

/** Waits for work that continues regardless, at most `ms` and until `signal` aborts; returns whether it finished. */
export async function isDoneWithin(
  clock: Sleeper,
  work: Promise<unknown>,
  ms: number,
  signal: AbortSignal,
): Promise<boolean> {
  const done = new AbortController();
  const late = withEither([signal, done.signal], (either) => clock.sleep(ms, either)).then(
    () => false,
    () => false,
  );
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    done.abort(noLongerNeeded);
  }
}
