import { onAbort } from "./on-abort.ts";

/** What the promise comes to; rejects with the signal's reason when that aborts before. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abandon = (): void => reject(signal.reason);
    if (signal.aborted) abandon();
    const release = onAbort(signal, abandon);
    promise.then(resolve, reject).finally(release);
  });
}
