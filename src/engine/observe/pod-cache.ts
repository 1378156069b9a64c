import { emptyObservedPod, type ObservedPod } from "../../model/observed.ts";

/** How a pod looked when it was last read, or why it could not be read. */
type Entry = (
  | { readonly observed: ObservedPod; readonly error?: undefined }
  | { readonly observed?: undefined; readonly error: Error }
) & { readonly readAtMs: number };

interface Waiter {
  readonly minMs: number;
  readonly resolve: () => void;
}

/** The part of the cache that pod workers need. */
export interface PodCacheReader {
  get(uid: string): ObservedPod;
  getNewerThan(uid: string, minMs: number, signal: AbortSignal): Promise<ObservedPod>;
}

/**
 * The last known runtime state of every pod. All times are on the monotonic clock and tell when a read of the
 * runtime began, so that a state is never taken for newer than it is.
 */
export class PodCache implements PodCacheReader {
  readonly #entries = new Map<string, Entry>();
  readonly #waiters = new Map<string, Set<Waiter>>();
  /** Pods that the runtime listed and has not told of yet. */
  readonly #unread = new Set<string>();
  readonly #followers = new Map<string, (observed: ObservedPod) => void>();
  readonly #requestRead: (uid: string) => void;
  #listedAtMs = Number.NEGATIVE_INFINITY;

  /** `requestRead` is told of every pod that somebody waits for, so that it can be read at once. */
  constructor(requestRead: (uid: string) => void) {
    this.#requestRead = requestRead;
  }

  /** Stores what a read found; a read that began before the stored one is dropped. */
  set(uid: string, found: ObservedPod | Error, readAtMs: number): void {
    const stored = this.#entries.get(uid);
    if (stored !== undefined && stored.readAtMs > readAtMs) return;
    this.#unread.delete(uid);
    if (found instanceof Error) {
      this.#entries.set(uid, { error: found, readAtMs });
    } else {
      const observed = withKnownIps(found, stored?.observed);
      this.#entries.set(uid, { observed, readAtMs });
      this.#followers.get(uid)?.(observed);
    }
    this.#notify(uid, readAtMs);
  }

  /** Tells the one who works on the pod of every state that is stored, until the returned function is called. */
  follow(uid: string, onState: (observed: ObservedPod) => void): () => void {
    this.#followers.set(uid, onState);
    return () => {
      if (this.#followers.get(uid) === onState) this.#followers.delete(uid);
    };
  }

  /** The runtime has that pod and is slow to tell of it: it is not to be taken for one that does not exist. */
  noteUnread(uid: string): void {
    if (!this.#entries.has(uid)) this.#unread.add(uid);
  }

  /** All pods were listed, and those that are not as they were read: a pod without an entry did not exist then. */
  noteListing(listedAtMs: number): void {
    this.#listedAtMs = listedAtMs;
    for (const uid of this.#waiters.keys()) {
      if (!this.#entries.has(uid) && !this.#unread.has(uid)) this.#notify(uid, listedAtMs);
    }
  }

  delete(uid: string): void {
    this.#unread.delete(uid);
    this.#entries.delete(uid);
  }

  /** The stored state, empty for an unknown pod. Throws what the last read threw. */
  get(uid: string): ObservedPod {
    const entry = this.#entries.get(uid);
    if (entry?.error !== undefined) throw entry.error;
    if (this.#unread.has(uid)) throw new Error("the runtime has not told of the pod yet");
    return entry?.observed ?? emptyObservedPod(uid, "", "");
  }

  /** The first state that was read after `minMs`; waits for it if it is not there yet. */
  async getNewerThan(uid: string, minMs: number, signal: AbortSignal): Promise<ObservedPod> {
    if (!this.isNewerThan(uid, minMs)) await this.#nextRead(uid, minMs, signal);
    return this.get(uid);
  }

  /** Whether the stored state was read after `minMs`. */
  isNewerThan(uid: string, minMs: number): boolean {
    if (this.#unread.has(uid)) return false;
    return (this.#entries.get(uid)?.readAtMs ?? this.#listedAtMs) > minMs;
  }

  #nextRead(uid: string, minMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const waiters = this.#waiters.get(uid) ?? new Set<Waiter>();
      this.#waiters.set(uid, waiters);
      const abort = (): void => {
        waiters.delete(waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        minMs,
        resolve: () => {
          signal.removeEventListener("abort", abort);
          resolve();
        },
      };
      waiters.add(waiter);
      signal.addEventListener("abort", abort, { once: true });
      this.#requestRead(uid);
    });
  }

  #notify(uid: string, readAtMs: number): void {
    const waiters = this.#waiters.get(uid);
    if (waiters === undefined) return;
    for (const waiter of waiters) {
      // A waiter asked for this read, so one that began in the same instant is new enough.
      if (readAtMs < waiter.minMs) continue;
      waiters.delete(waiter);
      waiter.resolve();
    }
    if (waiters.size === 0) this.#waiters.delete(uid);
  }
}

// A sandbox that has stopped has no addresses any more; its pod's status keeps those it had.
function withKnownIps(found: ObservedPod, before: ObservedPod | undefined): ObservedPod {
  const isReady = found.sandboxes.some(({ state }) => state === "ready");
  if (before === undefined || found.ips.length > 0 || isReady) return found;
  return { ...found, ips: before.ips };
}
