import { onAbort } from "./on-abort.ts";
import type { TimerStarter } from "./timers.ts";
import { noLongerNeeded } from "./with-either.ts";

/** Thrown when something took longer than it may. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/**
 * Runs `work` with a signal that also aborts after `ms`, with an error that says what took too long. Work that has
 * come far enough cancels its deadline.
 */
export async function withDeadline<T>(
  clock: TimerStarter,
  limit: { readonly ms: number; readonly what: string },
  signal: AbortSignal,
  work: (signal: AbortSignal, cancelDeadline: () => void) => Promise<T>,
): Promise<T> {
  const bounded = new AbortController();
  let rejectLate: (error: Error) => void = () => undefined;
  const late = new Promise<never>((_resolve, reject) => {
    rejectLate = reject;
  });
  const timer = clock.startTimer(limit.ms, () => {
    const error = new DeadlineError(`${limit.what} took longer than ${limit.ms / 1000} s`);
    bounded.abort(error);
    rejectLate(error);
  });
  const cancelDeadline = (): void => timer.stop();
  const giveUp = (): void => {
    bounded.abort(signal.reason);
    cancelDeadline();
  };
  if (signal.aborted) giveUp();
  const release = onAbort(signal, giveUp);
  try {
    // Work that ignores its signal must not hold up the one who waits for it.
    return await Promise.race([work(bounded.signal, cancelDeadline), late]);
  } catch (error) {
    // What else the work has begun is not needed any more, and would otherwise go on beside the next try.
    bounded.abort(noLongerNeeded);
    throw error;
  } finally {
    release();
    cancelDeadline();
  }
}

/** Waits for work that continues regardless, at most `ms` and until `signal` aborts; returns whether it finished. */
export function isDoneWithin(
  clock: TimerStarter,
  work: Promise<unknown>,
  ms: number,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      stopWaiting();
      resolve(false);
    };
    const timer = clock.startTimer(ms, giveUp);
    const release = onAbort(signal, giveUp);
    const stopWaiting = (): void => {
      timer.stop();
      release();
    };
    work.finally(stopWaiting).then(() => resolve(true), reject);
    if (signal.aborted) giveUp();
  });
}
