import { type ApiObject, ObjectSet } from "../../core/cluster/object-set.ts";
import {
  afterEnd,
  afterList,
  afterListError,
  afterWatchError,
  type EndedWatch,
  type IdleState,
  type NextStep,
  nextRequest,
  type ReflectorRequest,
  receiveEvent,
  type SetChange,
  watchDeadlineMs,
  watchTimeoutSeconds,
} from "../../core/cluster/reflector-step.ts";
import { Backoff, type BackoffLimits } from "../../lib/backoff.ts";
import { withDeadline } from "../../lib/deadline.ts";
import { errorText } from "../../lib/error-text.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import { ApiError } from "../../model/api-error.ts";
import type { ListMeta } from "../../model/generated/kubernetes.ts";
import type { WatchEvent } from "../../model/watch-event.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";

const defaultBackoff: BackoffLimits = { initialMs: 800, maxMs: 30_000 };
/** After this time without a failure the delays begin again. */
const quietMs = 120_000;
const defaultWatchMs = 5 * 60_000;

/** Receives what a reflector learns. */
interface ObjectSink<T> {
  /**
   * Called with the first complete set, even an empty one, and then after every change: all objects that there are, and
   * the keys of those that were added, changed or removed. The map changes later: keep a copy.
   */
  deliver(items: ReadonlyMap<string, T>, changed: ReadonlySet<string>): void;
}

export interface ReflectorOptions<T> {
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Of the collection, such as /api/v1/pods. */
  readonly path: string;
  /** Such as a fieldSelector. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** The server is asked to end each watch after this time or up to twice as much. */
  readonly watchMs?: number | undefined;
  readonly backoff?: BackoffLimits | undefined;
  /** Undefined = `items` is all that is needed. */
  readonly sink?: ObjectSink<T> | undefined;
}

/** Follows a collection of the API server: complete at all times once it is synced, and catching up after every outage. */
export class Reflector<T extends ApiObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #set = new ObjectSet<T>();
  readonly #backoff: Backoff;
  readonly #waiting = new Set<() => void>();
  #state: IdleState = { kind: "empty" };
  #isSynced = false;
  #failure: string | undefined;
  /** Thrown by the sink. */
  #broken: { readonly error: unknown } | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    const { clock, random, backoff = defaultBackoff } = options;
    this.#backoff = new Backoff({
      ...backoff,
      jitter: { share: 1, random },
      quiet: { ms: quietMs, nowMs: () => clock.monotonicMs() },
    });
  }

  /** All objects as last reported; keyed by namespace/name. */
  get items(): ReadonlyMap<string, T> {
    return this.#set.items;
  }

  /** Whether a complete set has arrived. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Why the collection could not be followed the last time it was tried; undefined when it can. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Resolves when a complete set has arrived; rejects with the signal's reason when it aborts first. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    if (this.#isSynced) return;
    let wake = (): void => undefined;
    const synced = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#waiting.add(wake);
    await untilAborted(synced, signal).finally(() => this.#waiting.delete(wake));
  }

  /** Follows the collection until `signal` aborts; rejects only with what the sink throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { state, delay } = await this.#step(signal);
      this.#state = state;
      if (delay === undefined) continue;
      const delayMs = Math.max(delay.atLeastMs, this.#backoff.nextMs());
      await this.#options.clock.sleep(delayMs, signal).catch(() => undefined);
    }
  }

  /** One request and all that it brings. */
  async #step(signal: AbortSignal): Promise<NextStep> {
    const { watchMs = defaultWatchMs, random } = this.#options;
    const timeoutSeconds = watchTimeoutSeconds(watchMs, random());
    const request = nextRequest(this.#state, timeoutSeconds);
    if (request.kind === "list") return await this.#list(signal);
    return await this.#watch(request, watchDeadlineMs(timeoutSeconds), signal);
  }

  async #list(signal: AbortSignal): Promise<NextStep> {
    const { api, path, query } = this.#options;
    try {
      const list = await api.send<{
        readonly metadata?: ListMeta | undefined;
        readonly items?: readonly T[] | null | undefined;
      }>({ method: "GET", path, query }, signal);
      this.#replace(list.items ?? []);
      return afterList(list.metadata?.resourceVersion ?? "");
    } catch (error) {
      return this.#failed(error, afterListError(error), signal);
    }
  }

  async #watch(
    request: Extract<ReflectorRequest, { readonly kind: "watch" }>,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<NextStep> {
    const { api, clock, path } = this.#options;
    const query = { ...this.#options.query, ...request.query };
    const startedAtMs = clock.monotonicMs();
    const found = new ObjectSet<T>();
    let { state } = request;
    let events = 0;
    const onEvent = (event: WatchEvent<T>): void => {
      events += 1;
      this.#failure = undefined;
      const received = receiveEvent(state, event);
      state = received.state;
      if (received.change !== undefined) this.#apply(received.change, found);
    };
    const ended = (): EndedWatch => ({ events, durationMs: clock.monotonicMs() - startedAtMs });
    try {
      const limit = { ms: deadlineMs, what: `the watch of ${path}` };
      await withDeadline(clock, limit, signal, (late) =>
        api.watch<T>({ path, query }, onEvent, late),
      );
      return afterEnd(state, ended());
    } catch (error) {
      return this.#failed(error, afterWatchError(state, error, ended()), signal);
    }
  }

  #failed(error: unknown, next: NextStep, signal: AbortSignal): NextStep {
    if (this.#broken !== undefined && !signal.aborted) throw this.#broken.error;
    if (signal.aborted || next.isFailure !== true) return next;
    const failure = errorText(error);
    if (failure !== this.#failure) this.#logFailure(error);
    this.#failure = failure;
    return next;
  }

  /** `found`: the objects that the open watch has brought before it was complete. */
  #apply(change: SetChange<T>, found: ObjectSet<T>): void {
    switch (change.kind) {
      case "found":
        found.apply(change.event);
        return;
      case "complete":
        this.#replace(found.items.values());
        return;
      case "changed": {
        const key = this.#set.apply(change.event);
        if (key !== undefined) this.#deliver(new Set([key]));
      }
    }
  }

  #replace(objects: Iterable<T>): void {
    const changed = this.#set.replace(objects);
    this.#failure = undefined;
    const isFirst = !this.#isSynced;
    this.#isSynced = true;
    if (isFirst || changed.size > 0) this.#deliver(changed);
    for (const wake of this.#waiting) wake();
  }

  #deliver(changed: ReadonlySet<string>): void {
    try {
      this.#options.sink?.deliver(this.#set.items, changed);
    } catch (error) {
      // Neither the server nor the connection is at fault.
      this.#broken = { error };
      throw error;
    }
  }

  #logFailure(error: unknown): void {
    const { log, path, query } = this.#options;
    const fields = { path, ...query, error: errorText(error) };
    // While the server cannot be reached, no collection can be followed: its users report that.
    if (error instanceof ApiError) log.warn("cannot list or watch objects", fields);
    else log.debug("cannot reach the api server to watch objects", fields);
  }
}
