import { errorText } from "../../lib/error-text.ts";
import { ApiError, isApiStatus } from "../../model/api-error.ts";
import type { ListMeta } from "../../model/generated/kubernetes.ts";
import type { ApiClient, WatchEvent } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { withDeadline } from "../execute/deadline.ts";
import { ApiBackoff, type ApiBackoffLimits } from "./api-backoff.ts";
import { type ApiObject, ObjectSet, objectKey } from "./object-set.ts";

const defaultWatchMs = 5 * 60_000;
/** A connection that ends sooner, and brought nothing, is not worth opening again at once. */
const shortWatchMs = 1000;
/** How much later than it promised the server may end a watch before the connection counts as dead. */
const lateMs = 30_000;

export interface ReflectorOptions<T> {
  readonly api: ApiClient;
  readonly clock: Clock;
  /** From 0 (included) to 1 (excluded). */
  readonly random: () => number;
  readonly log: Log;
  /** Of the collection, such as /api/v1/pods. */
  readonly path: string;
  /** Such as a fieldSelector. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** The server is asked to end each watch after this time or up to twice as much. */
  readonly watchMs?: number | undefined;
  readonly backoff?: ApiBackoffLimits | undefined;
  /**
   * Told of the first complete set, even an empty one, and then of every change: all there is now, and the keys of what
   * is new, other or gone. The map changes later: keep a copy.
   */
  readonly onChange: (items: ReadonlyMap<string, T>, changed: ReadonlySet<string>) => void;
}

type Query = Readonly<Record<string, string>>;

/** Follows a collection of the API server: complete at all times once it is synced, and catching up after every outage. */
export class Reflector<T extends ApiObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #set = new ObjectSet<T>();
  readonly #backoff: ApiBackoff;
  readonly #waiting = new Set<() => void>();
  #isSynced = false;
  /** Whether the version that the set is at can be watched from. */
  #canResume = false;
  #failure: string | undefined;
  /** Thrown by who is told of changes. */
  #broken: { readonly error: unknown } | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#backoff = new ApiBackoff(options.clock, options.random, options.backoff);
  }

  /** All objects as last heard of; keyed by namespace/name. */
  get items(): ReadonlyMap<string, T> {
    return this.#set.items;
  }

  /** Whether a complete set has arrived. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Why the server could not be followed the last time it was tried; undefined when it can. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Resolves when a complete set has arrived; rejects with the signal's reason when it aborts first. */
  whenSynced(signal: AbortSignal): Promise<void> {
    if (this.#isSynced) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", abandon);
      };
      const wake = (): void => {
        settle();
        resolve();
      };
      const abandon = (): void => {
        settle();
        reject(signal.reason);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      this.#waiting.add(wake);
      signal.addEventListener("abort", abandon, { once: true });
    });
  }

  /** Follows the collection until `signal` aborts; rejects only with what `onChange` throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      let waitMs = 0;
      try {
        waitMs = this.#canResume ? await this.#resume(signal) : await this.#start(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (this.#broken !== undefined) throw this.#broken.error;
        waitMs = this.#delayMs(error);
        // After a refusal nobody knows what was missed.
        if (error instanceof ApiError && error.status !== 429) this.#canResume = false;
        const failure = errorText(error);
        if (failure !== this.#failure) this.#logFailure(error);
        this.#failure = failure;
      }
      if (waitMs > 0) await clock.sleep(waitMs, signal).catch(() => undefined);
    }
  }

  /** One stream brings what there is, a bookmark that says that this was all, and then the changes. */
  async #start(signal: AbortSignal): Promise<number> {
    const found = new Map<string, T>();
    let isComplete = false;
    const take = (event: WatchEvent<T>): void => {
      if (isComplete) {
        this.#take(event);
        return;
      }
      if (event.type === "DELETED") found.delete(objectKey(event.object));
      // What there is comes in no order of versions.
      else if (event.type !== "BOOKMARK") found.set(objectKey(event.object), event.object);
      if (event.type !== "BOOKMARK") return;
      const { annotations, resourceVersion = "" } = event.object.metadata ?? {};
      if (annotations?.["k8s.io/initial-events-end"] !== "true") return;
      isComplete = true;
      this.#replace(found.values(), resourceVersion);
    };
    try {
      const initial = { resourceVersionMatch: "NotOlderThan", sendInitialEvents: "true" };
      const waitMs = await this.#watch(initial, take, signal);
      return isComplete ? waitMs : this.#backoff.nextMs();
    } catch (error) {
      const wasRefused = error instanceof ApiError && error.status !== 429 && error.status !== 410;
      if (isComplete || !wasRefused) throw error;
      // Servers that do not stream what there is refuse to: they are asked for a list.
      await this.#list(signal);
      return 0;
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { api, path, query } = this.#options;
    const list = await api.send<{
      readonly metadata?: ListMeta | undefined;
      readonly items?: readonly T[] | null | undefined;
    }>({ method: "GET", path, query }, signal);
    this.#replace(list.items ?? [], list.metadata?.resourceVersion ?? "");
  }

  async #resume(signal: AbortSignal): Promise<number> {
    try {
      const { resourceVersion } = this.#set;
      return await this.#watch({ resourceVersion }, (event) => this.#take(event), signal);
    } catch (error) {
      if (!isApiStatus(error, 410)) throw error;
      this.#canResume = false;
      return 0;
    }
  }

  /** Answers how long to wait before the next watch once this one has ended. */
  async #watch(
    from: Query,
    onEvent: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
  ): Promise<number> {
    const { api, clock, random, path, query, watchMs = defaultWatchMs } = this.#options;
    const timeoutSeconds = Math.floor((watchMs * (1 + random())) / 1000);
    const startedAtMs = clock.monotonicMs();
    let events = 0;
    const count = (event: WatchEvent<T>): void => {
      events += 1;
      this.#failure = undefined;
      onEvent(event);
    };
    const request: Query = {
      ...query,
      ...from,
      watch: "true",
      allowWatchBookmarks: "true",
      timeoutSeconds: String(timeoutSeconds),
    };
    const limit = { ms: timeoutSeconds * 1000 + lateMs, what: `the watch of ${path}` };
    const wasShort = (): boolean =>
      events === 0 && clock.monotonicMs() - startedAtMs < shortWatchMs;
    try {
      await withDeadline(clock, limit, signal, (late) =>
        api.watch<T>({ path, query: request }, count, late),
      );
    } catch (error) {
      // A connection that broke after it had worked goes on where it broke.
      if (error instanceof ApiError || wasShort() || this.#broken !== undefined) throw error;
      return 0;
    }
    return wasShort() ? this.#backoff.nextMs() : 0;
  }

  #take(event: WatchEvent<T>): void {
    const key = this.#set.apply(event);
    if (key !== undefined) this.#tell(new Set([key]));
  }

  #replace(objects: Iterable<T>, resourceVersion: string): void {
    const changed = this.#set.replace(objects, resourceVersion);
    // Without a version to go on from, only the whole collection says what has changed since.
    this.#canResume = resourceVersion !== "";
    this.#failure = undefined;
    const isFirst = !this.#isSynced;
    this.#isSynced = true;
    if (isFirst || changed.size > 0) this.#tell(changed);
    for (const wake of this.#waiting) wake();
  }

  #tell(changed: ReadonlySet<string>): void {
    try {
      this.#options.onChange(this.#set.items, changed);
    } catch (error) {
      // Nothing the server did, and no connection that broke.
      this.#broken = { error };
      throw error;
    }
  }

  #logFailure(error: unknown): void {
    const { log, path, query } = this.#options;
    const fields = { path, ...query, error: errorText(error) };
    // A server that is away is away for all that is followed: whoever needs it at once says so.
    if (error instanceof ApiError) log.warn("the api server does not show objects", fields);
    else log.debug("the api server cannot be reached for objects", fields);
  }

  #delayMs(error: unknown): number {
    const askedMs = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    return Math.max(askedMs, this.#backoff.nextMs());
  }
}
