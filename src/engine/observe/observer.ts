import { Backoff } from "../../lib/backoff.ts";
import { isDoneWithin, withDeadline } from "../../lib/deadline.ts";
import { errorText } from "../../lib/error-text.ts";
import { withEither } from "../../lib/with-either.ts";
import type { PodUid } from "../../model/ids.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { RuntimeEvent, RuntimeEvents } from "../../ports/runtime-events.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { ObservedPods } from "./observed-pods.ts";
import type { PodReader } from "./pod-reader.ts";
import type { RuntimeHealth } from "./runtime-health.ts";
import { listRuntime } from "./runtime-listing.ts";

const relistMs = 60_000;
const pollMs = 1_000;
const listDeadlineMs = 30_000;
/** How long all wait for a pod that is slow to read. */
const lateReadMs = 3_000;
/** So many are named where there may be many. */
const fewPods = 5;
const backoffLimits = { initialMs: 100, maxMs: 5_000 };

type ObserverMode = "cri" | "containerd" | "polling";

export interface ObserverDeps {
  readonly runtime: ContainerRuntime;
  /** Tried in this order; polling is what is left. */
  readonly eventSources: readonly RuntimeEvents[];
  readonly observed: ObservedPods;
  readonly reader: PodReader;
  readonly health: Pick<RuntimeHealth, "note">;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly wakeups: Pick<Wakeups, "housekeep" | "resume">;
}

/**
 * Watches the runtime. Events are hints: each makes the one pod be read again, and what is read is the truth. A
 * listing after every subscription and then every minute finds what events missed.
 */
export class Observer {
  readonly #deps: ObserverDeps;
  readonly #signal: AbortSignal;
  #mode: ObserverMode = "polling";
  #relistedAtMs: number | undefined;

  constructor(deps: ObserverDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  /** Where changes are learned from. */
  get mode(): ObserverMode {
    return this.#mode;
  }

  /** Resolves when the signal of the constructor aborts. */
  async run(): Promise<void> {
    for (const source of this.#deps.eventSources) {
      await this.#follow(source);
      if (this.#signal.aborted) return;
    }
    this.#mode = "polling";
    while (!this.#signal.aborted) {
      await this.#relist();
      await this.#sleep(pollMs);
    }
  }

  /** Follows one source over all its interruptions; returns when the runtime does not have it. */
  async #follow(source: RuntimeEvents): Promise<void> {
    const { health, log } = this.#deps;
    const backoff = new Backoff(backoffLimits);
    while (!this.#signal.aborted) {
      const stop = new AbortController();
      let relisting: Promise<void> | undefined;
      try {
        await source.subscribe(
          () => {
            this.#mode = source.name;
            backoff.reset();
            relisting = this.#relistWhile(stop.signal);
          },
          (event) => this.#onEvent(event),
          this.#signal,
        );
      } catch (error) {
        if (error instanceof RuntimeError && error.code === "Unimplemented") return;
        if (!this.#signal.aborted) {
          health.note(errorText(error));
          log.warn("lost the runtime's events", { source: source.name, error: errorText(error) });
        }
      } finally {
        stop.abort();
        await relisting;
      }
      await this.#sleep(backoff.nextMs());
    }
  }

  async #relistWhile(stop: AbortSignal): Promise<void> {
    const backoff = new Backoff(backoffLimits);
    while (!stop.aborted && !this.#signal.aborted) {
      if (await this.#relist()) {
        backoff.reset();
        await this.#sleep(relistMs, stop);
      } else {
        await this.#sleep(backoff.nextMs(), stop);
      }
    }
  }

  /** Lists everything and reads what is not as it was; false when the runtime did not answer. */
  async #relist(): Promise<boolean> {
    const { clock, runtime, observed, reader, health, log } = this.#deps;
    const startedAtMs = clock.monotonicMs();
    const lastMs = this.#relistedAtMs;
    this.#relistedAtMs = startedAtMs;
    const limit = { ms: listDeadlineMs, what: "listing the runtime's pods" };
    try {
      const listing = await withDeadline(clock, limit, this.#signal, (signal) =>
        listRuntime(runtime, clock, signal),
      );
      const changed = observed.beginListing(listing, startedAtMs);
      health.note(undefined);
      const reads = changed.map((uid) => {
        const pod = listing.pods.get(uid);
        return pod === undefined
          ? reader.readNow(uid)
          : reader.readListed(uid, { pod, atMs: startedAtMs });
      });
      await this.#awaitReads(changed, reads);
      this.#noteListed(startedAtMs, lastMs);
      return true;
    } catch (error) {
      if (this.#signal.aborted) return false;
      health.note(errorText(error));
      log.warn("cannot list the runtime's pods", { error: errorText(error) });
      return false;
    }
  }

  #noteListed(startedAtMs: number, lastMs: number | undefined): void {
    const { clock, observed, metrics, wakeups } = this.#deps;
    const isFirst = !observed.isListed;
    observed.endListing(startedAtMs);
    const seconds = (clock.monotonicMs() - startedAtMs) / 1000;
    metrics.observe("kubelet_pleg_relist_duration_seconds", seconds);
    metrics.set("kubelet_pleg_last_seen_seconds", Math.floor(clock.nowMs() / 1000));
    if (lastMs !== undefined) {
      const sinceLastSeconds = (startedAtMs - lastMs) / 1000;
      metrics.observe("kubelet_pleg_relist_interval_seconds", sinceLastSeconds);
    }
    if (!isFirst) return;
    wakeups.resume();
    wakeups.housekeep();
  }

  /** Only a pod's own worker waits long for one that is slow to read. */
  async #awaitReads(uids: readonly PodUid[], reads: readonly Promise<void>[]): Promise<void> {
    await isDoneWithin(this.#deps.clock, Promise.all(reads), lateReadMs, this.#signal);
    const late = this.#deps.observed.noteLate(uids);
    if (late.length === 0) return;
    const pods = late.slice(0, fewPods);
    this.#deps.log.warn("the runtime is slow to report pods", { count: late.length, pods });
  }

  // What the agent creates and starts it reads by itself when it is done; only ends come as a surprise.
  #onEvent(event: RuntimeEvent): void {
    if (event.kind === "created" || event.kind === "started") return;
    const { observed, reader } = this.#deps;
    const uid = observed.podOf(event.containerId);
    if (uid === undefined) void this.#findPod(event);
    else if (event.kind === "stopped") reader.readUntilEnded(uid, event);
    else reader.readWhenQuiet(uid);
  }

  /** The end of something that was never read: ask whose it is. */
  async #findPod(event: RuntimeEvent): Promise<void> {
    if (event.kind === "deleted") return;
    const { runtime, clock, observed, reader, log } = this.#deps;
    try {
      const { podOfId } = await listRuntime(runtime, clock, this.#signal);
      observed.noteIds(podOfId);
      const uid = podOfId.get(event.containerId);
      if (uid === undefined) return;
      if (event.kind === "stopped") reader.readUntilEnded(uid, event);
      else reader.requestRead(uid);
    } catch (error) {
      if (this.#signal.aborted) return;
      log.warn("cannot find the pod of an event", { error: errorText(error) });
    }
  }

  async #sleep(ms: number, stop?: AbortSignal): Promise<void> {
    const sleep = (signal: AbortSignal) => this.#deps.clock.sleep(ms, signal);
    const slept =
      stop === undefined ? sleep(this.#signal) : withEither([this.#signal, stop], sleep);
    await slept.catch(() => undefined);
  }
}
