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
    signal.addEventListener("abort", abort, { once: true });
    return () => signal.removeEventListener("abort", abort);
  });
  try {
    return await work(either.signal);
  } finally {
    for (const release of releases) release();
  }
}

/** What to abort with when nobody will look at the reason: an error for each would cost its stack. */
export const noLongerNeeded: Error = new Error("no longer needed");
