import { setTimeout as delay } from "node:timers/promises";

const everyMs = 400;

/** The first value that is as wanted, of a thing that does not report its changes; rejects with the last one. */
export async function eventually<T>(
  read: () => Promise<T>,
  isReached: (value: T) => boolean,
  timeoutMs = 60_000,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs);
  for (;;) {
    const value = await read();
    if (isReached(value)) return value;
    if (timeout.aborted) {
      throw new Error(`not as wanted after ${timeoutMs} ms: ${JSON.stringify(value)}`);
    }
    await delay(everyMs);
  }
}
