const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal aborts, unless what this returns is called before; never for one that has aborted. A signal
 * has one listener of Node's for all: Node walks through all of a signal's listeners whenever one is added or removed.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const present = listeners.get(signal);
  const callbacks = present ?? new Set();
  if (present === undefined) {
    listeners.set(signal, callbacks);
    const notify = (): void => {
      for (const each of callbacks) each();
      callbacks.clear();
    };
    signal.addEventListener("abort", notify, { once: true });
  }
  // Also a callback that is given twice is called twice, and removed once.
  const own = (): void => callback();
  callbacks.add(own);
  return () => callbacks.delete(own);
}
