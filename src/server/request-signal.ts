import { type EventEmitter, setMaxListeners } from "node:events";

/**
 * Aborts when one of the connection's ends closes or fails, or when the server stops. Nothing of it is left at the
 * stopping signal afterwards, as there would be of AbortSignal.any on Node 20.
 */
export function requestSignal(
  stopping: AbortSignal,
  ends: readonly (EventEmitter | undefined)[],
): AbortSignal {
  const gone = new AbortController();
  const abort = (): void => {
    stopping.removeEventListener("abort", abort);
    gone.abort();
  };
  // Every open request listens.
  setMaxListeners(0, stopping);
  stopping.addEventListener("abort", abort);
  if (stopping.aborted) abort();
  for (const end of ends) {
    end?.on("close", abort);
    end?.on("error", abort);
  }
  return gone.signal;
}
