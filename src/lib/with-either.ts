import { onAbort } from "./on-abort.ts";

/**
 * Does work with a signal that aborts when one of others does. Afterwards nothing of it is left at them, as there would
 * be of AbortSignal.any: on Node 20 that costs a long-lived signal some bytes for every call, for ever.
 */
export async function withEither<T>(
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const either = new AbortController();
  const releases = signals.map((signal) => {
    const abort = (): void => either.abort(signal.reason);
    if (signal.aborted) abort();
    return onAbort(signal, abort);
  });
  try {
    return await work(either.signal);
  } finally {
    for (const release of releases) release();
  }
}

/** The abort reason where no caller reads it: a new error each time would capture a stack. */
export const noLongerNeeded: Error = new Error("no longer needed");
