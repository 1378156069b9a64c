import { noLongerNeeded, withEither } from "../../lib/with-either.ts";
import type { Clock } from "../../ports/clock.ts";

/** Runs `work` with a signal that also aborts after `ms`, with an error that says what took too long. */
export async function withDeadline<T>(
  clock: Clock,
  limit: { readonly ms: number; readonly what: string },
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const late = new AbortController();
  const expired = withEither([signal, done.signal], (either) => clock.sleep(limit.ms, either)).then(
    () => {
      const error = new Error(`${limit.what} took longer than ${limit.ms / 1000} s`);
      late.abort(error);
      throw error;
    },
    () => new Promise<never>(() => undefined),
  );
  try {
    // A call that ignores its signal must not hold up the one who waits for it.
    return await Promise.race([withEither([signal, late.signal], work), expired]);
  } finally {
    done.abort(noLongerNeeded);
  }
}
