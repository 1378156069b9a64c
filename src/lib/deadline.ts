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
  const done = new AbortController();
  const late = new AbortController();
  const cancelDeadline = (): void => done.abort(noLongerNeeded);
  const expire = async (bounded: AbortSignal): Promise<never> => {
    const sleep = (either: AbortSignal) => clock.sleep(limit.ms, either);
    const isLate = await withEither([bounded, done.signal], sleep).then(
      () => true,
      () => false,
    );
    if (!isLate) return await new Promise<never>(() => undefined);
    const error = new DeadlineError(`${limit.what} took longer than ${limit.ms / 1000} s`);
    late.abort(error);
    throw error;
  };
  try {
    // Work that ignores its signal must not hold up the one who waits for it.
    return await withEither([signal, late.signal], (bounded) =>
      Promise.race([work(bounded, cancelDeadline), expire(bounded)]),
    );
  } finally {
    cancelDeadline();
  }
}

/** Waits for work that goes on anyway, at most `ms` and until `signal` aborts; whether it was done by then. */
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
