import { Backoff } from "../../lib/backoff.ts";
import { isDoneWithin, withDeadline } from "../../lib/deadline.ts";
import { errorText } from "../../lib/error-text.ts";
import { withEither } from "../../lib/with-either.ts";
import type { ContainerExit, ObservedPod } from "../../model/observed.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { RuntimeEvent, RuntimeEvents } from "../../ports/runtime-events.ts";
import { rawContainerId } from "../execute/container-id.ts";
import type { ObserverDeps, ObserverMode } from "./observer-deps.ts";
import {
  fingerprintOf,
  hasEnded,
  type ListedPod,
  listedFingerprint,
  listRuntime,
} from "./runtime-listing.ts";

const relistMs = 60_000;
const pollMs = 1_000;
const readDeadlineMs = 30_000;
const listDeadlineMs = 30_000;
/** How long all wait for a pod that is slow to read. */
const lateReadMs = 3_000;
/** So many are named where there may be many. */
const fewPods = 5;
const backoffLimits = { initialMs: 100, maxMs: 5_000 };
/** How long a pod that is being worked on goes unread, however much happens to it. */
const busyReadMs = 1_000;
/** The runtime's status lags behind its exit events: look again until they agree. */
const lagRetriesMs = [10, 15, 25, 50, 100, 200, 400, 1_000];

/** A pod in a list that was asked for at that time, on the monotonic clock. */
interface ListedAt {
  readonly pod: ListedPod;
  readonly atMs: number;
}

/** A pod that could not be read when it was last tried. */
interface FailedRead {
  readonly backoff: Backoff;
  isWaiting: boolean;
}

/**
 * Watches the runtime. Events are hints: each makes the one pod be read again, and what is read is the truth. A
 * listing after every subscription and then every minute finds what events missed. Every read has its own
 * deadline, so that a pod that hangs delays nobody else.
 */
export class Observer {
  readonly #deps: ObserverDeps;
  readonly #signal: AbortSignal;
  readonly #pods = new Map<string, ObservedPod>();
  readonly #reads = new Map<string, { again: boolean; done: Promise<void> }>();
  readonly #failed = new Map<string, FailedRead>();
  readonly #awaitingQuiet = new Set<string>();
  #keys: ReadonlyMap<string, string> = new Map();
  /** Containers and sandboxes that have ended, until the runtime shows it. */
  readonly #settling = new Set<string>();
  readonly #exits = new Map<string, ContainerExit>();
  #podOfId = new Map<string, string>();
  #mode: ObserverMode = "polling";
  #relistedAtMs: number | undefined;

  constructor(deps: ObserverDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  /** How changes are heard of. */
  get mode(): ObserverMode {
    return this.#mode;
  }

  /** Every pod that the runtime has anything of, as last read. */
  get pods(): ReadonlyMap<string, ObservedPod> {
    return this.#pods;
  }

  /** Whether the runtime has anything of the pod, as last read, or listed and not yet read. */
  has(uid: string): boolean {
    if (this.#pods.has(uid)) return true;
    return this.#keys.has(uid) && (this.#reads.has(uid) || this.#failed.has(uid));
  }

  /** Pods that the runtime listed but could not tell of yet, by UID: namespace/name. */
  *unreadPods(): Iterable<readonly [uid: string, key: string]> {
    for (const entry of this.#keys) {
      if (this.#failed.has(entry[0]) && !this.#pods.has(entry[0])) yield entry;
    }
  }

  /** The runtime's ids of all that runs, as last read. */
  *runningContainers(): Iterable<string> {
    for (const { containers } of this.#pods.values()) {
      for (const { id, state } of containers) if (state === "running") yield rawContainerId(id);
    }
  }

  /** Whether anything was read that does not run: an ended container, or a sandbox without its network. */
  get hasDead(): boolean {
    return [...this.#pods.values()].some(
      ({ containers, sandboxes }) =>
        containers.some(({ state }) => state !== "running") ||
        sandboxes.some(({ state }) => state !== "ready"),
    );
  }

  /** The ids of images that containers have mounted. */
  mountedImages(): readonly string[] {
    return [...this.#pods.values()]
      .flatMap(({ containers }) => containers.flatMap(({ mounts = [] }) => mounts))
      .flatMap(({ image = "" }) => image || []);
  }

  /** How that container ended, as far as the runtime has told. */
  exitOf(containerId: string): ContainerExit | undefined {
    return this.#exits.get(containerId);
  }

  /** Resolves when the signal of the constructor aborts. `onReady`: all pods of the runtime are known. */
  async run(onReady: () => void): Promise<void> {
    let ready = onReady;
    for (const source of this.#deps.eventSources) {
      await this.#follow(source, () => {
        ready();
        ready = () => undefined;
      });
      if (this.#signal.aborted) return;
    }
    this.#mode = "polling";
    while (!this.#signal.aborted) {
      if (await this.#relist()) ready();
      await this.#sleep(pollMs);
    }
  }

  /** Reads that pod soon; a read that is under way is followed by another one. */
  requestRead(uid: string): void {
    const running = this.#reads.get(uid);
    if (running !== undefined) running.again = true;
    else this.#inBackground(uid, this.#startReading(uid));
  }

  #inBackground(uid: string, work: Promise<void>): void {
    work.catch((error: unknown) => this.#deps.faults.note(error, "observation", uid));
  }

  /** Reads that pod as soon as nobody works on it, unless it was read by then; not much later even if somebody does. */
  async readWhenQuiet(uid: string): Promise<void> {
    if (this.#awaitingQuiet.has(uid)) return;
    this.#awaitingQuiet.add(uid);
    const sinceMs = this.#deps.clock.monotonicMs();
    await this.#untilQuiet(uid).finally(() => this.#awaitingQuiet.delete(uid));
    if (!this.#deps.cache.isNewerThan(uid, sinceMs)) this.requestRead(uid);
  }

  async #untilQuiet(uid: string): Promise<void> {
    const work = this.#deps.workOn(uid);
    if (work === undefined) return;
    await isDoneWithin(this.#deps.clock, work, busyReadMs, this.#signal);
    await this.#reads.get(uid)?.done;
  }

  #startReading(uid: string, listed?: ListedAt): Promise<void> {
    const read = { again: false, done: Promise.resolve() };
    this.#reads.set(uid, read);
    read.done = this.#readUntilQuiet(uid, read, listed);
    return read.done;
  }

  async #readUntilQuiet(
    uid: string,
    read: { again: boolean },
    listed: ListedAt | undefined,
  ): Promise<void> {
    try {
      await this.#read(uid, listed);
      while (read.again && !this.#signal.aborted) {
        read.again = false;
        await this.#read(uid);
      }
    } finally {
      // At once: a read that is asked for from now on is not done by this one.
      this.#reads.delete(uid);
    }
  }

  async #read(uid: string, listed?: ListedAt): Promise<void> {
    const { clock, cache, log } = this.#deps;
    const readAtMs = listed?.atMs ?? clock.monotonicMs();
    const limit = { ms: readDeadlineMs, what: `reading pod ${uid} from the runtime` };
    try {
      const observed = await withDeadline(clock, limit, this.#signal, (signal) =>
        this.#deps.readPod(uid, signal, { listed: listed?.pod, before: this.#pods.get(uid) }),
      );
      cache.set(uid, observed, readAtMs);
      this.#remember(uid, observed, this.#failed.delete(uid));
    } catch (error) {
      if (this.#signal.aborted) return;
      const level = this.#failed.has(uid) ? "debug" : "warn";
      log[level]("cannot read a pod from the runtime", { podUid: uid, error: errorText(error) });
      cache.set(uid, error instanceof Error ? error : new Error(String(error)), readAtMs);
      this.#inBackground(uid, this.#readAgainLater(uid));
    }
  }

  // No event tells that a pod can be read again.
  async #readAgainLater(uid: string): Promise<void> {
    const failed = this.#failed.get(uid) ?? {
      backoff: new Backoff(backoffLimits),
      isWaiting: false,
    };
    this.#failed.set(uid, failed);
    if (failed.isWaiting) return;
    failed.isWaiting = true;
    await this.#sleep(failed.backoff.nextMs());
    failed.isWaiting = false;
    if (!this.#signal.aborted && this.#failed.get(uid) === failed) this.requestRead(uid);
  }

  /** `isNews`: those who act on the pod wait for this, whatever it says. */
  #remember(uid: string, observed: ObservedPod, isNews: boolean): void {
    const before = this.#pods.get(uid);
    const fingerprint = fingerprintOf(observed);
    if (fingerprint === "") this.#pods.delete(uid);
    else this.#pods.set(uid, observed);
    if (!isNews && fingerprint === (before === undefined ? "" : fingerprintOf(before))) return;
    for (const { id } of observed.sandboxes) this.#podOfId.set(id, uid);
    for (const { id } of observed.containers) this.#podOfId.set(rawContainerId(id), uid);
    this.#deps.onChange(observed);
  }

  /** Follows one source over all its interruptions; returns when the runtime does not have it. */
  async #follow(source: RuntimeEvents, onReady: () => void): Promise<void> {
    const { log } = this.#deps;
    const backoff = new Backoff(backoffLimits);
    while (!this.#signal.aborted) {
      const stop = new AbortController();
      let relisting: Promise<void> | undefined;
      try {
        await source.subscribe(
          () => {
            this.#mode = source.name;
            backoff.reset();
            relisting = this.#relistWhile(stop.signal, onReady);
          },
          (event) => this.#onEvent(event),
          this.#signal,
        );
      } catch (error) {
        if (error instanceof RuntimeError && error.code === "Unimplemented") return;
        if (!this.#signal.aborted) {
          this.#deps.onHealth(errorText(error));
          log.warn("lost the runtime's events", { source: source.name, error: errorText(error) });
        }
      } finally {
        stop.abort();
        await relisting;
      }
      await this.#sleep(backoff.nextMs());
    }
  }

  async #relistWhile(stop: AbortSignal, onReady: () => void): Promise<void> {
    const backoff = new Backoff(backoffLimits);
    while (!stop.aborted && !this.#signal.aborted) {
      if (await this.#relist()) {
        onReady();
        backoff.reset();
        await this.#sleep(relistMs, stop);
      } else {
        await this.#sleep(backoff.nextMs(), stop);
      }
    }
  }

  /** Lists everything and reads what is not as it was; false when the runtime did not answer. */
  async #relist(): Promise<boolean> {
    const { cache, clock, runtime, onHealth, onRelist, log } = this.#deps;
    const startedAtMs = clock.monotonicMs();
    const lastMs = this.#relistedAtMs;
    this.#relistedAtMs = startedAtMs;
    const limit = { ms: listDeadlineMs, what: "listing the runtime's pods" };
    try {
      const listing = await withDeadline(clock, limit, this.#signal, (signal) =>
        listRuntime(runtime, clock, signal),
      );
      this.#podOfId = new Map(listing.podOfId);
      this.#keys = listing.keys;
      for (const id of this.#exits.keys()) if (!this.#podOfId.has(id)) this.#exits.delete(id);
      const gone = [...this.#pods.keys()].filter((uid) => !listing.pods.has(uid));
      const changed = [...listing.pods].filter(([uid, listed]) => this.#isChanged(uid, listed));
      onHealth(undefined);
      const reads = changed.map(([uid, pod]) => this.#readListed(uid, { pod, atMs: startedAtMs }));
      await this.#awaitReads(
        [...gone, ...changed.map(([uid]) => uid)],
        [...gone.map((uid) => this.#readNow(uid)), ...reads],
      );
      cache.noteListing(startedAtMs);
      const sinceLastMs = lastMs === undefined ? undefined : startedAtMs - lastMs;
      onRelist(clock.monotonicMs() - startedAtMs, sinceLastMs);
      return true;
    } catch (error) {
      if (this.#signal.aborted) return false;
      onHealth(errorText(error));
      log.warn("cannot list the runtime's pods", { error: errorText(error) });
      return false;
    }
  }

  #isChanged(uid: string, listed: ListedPod): boolean {
    const known = this.#pods.get(uid);
    return known === undefined || fingerprintOf(known) !== listedFingerprint(listed);
  }

  /** Nobody but a pod's own worker waits long for one that the runtime is slow to tell of. */
  async #awaitReads(uids: readonly string[], reads: readonly Promise<void>[]): Promise<void> {
    await isDoneWithin(this.#deps.clock, Promise.all(reads), lateReadMs, this.#signal);
    const isLate = (uid: string) => this.#reads.has(uid) && !this.#pods.has(uid);
    const late = uids.filter((uid) => isLate(uid) && !this.#failed.has(uid));
    if (late.length === 0) return;
    const pods = late.map((uid) => this.#keys.get(uid) ?? uid).slice(0, fewPods);
    this.#deps.log.warn("the runtime is slow to tell of pods", { count: late.length, pods });
    for (const uid of late) {
      this.#deps.cache.noteUnread(uid);
      this.#failed.set(uid, { backoff: new Backoff(backoffLimits), isWaiting: false });
    }
  }

  /** A list says nothing new of a pod that was read before: what was done to it since may be missing. */
  async #readListed(uid: string, listed: ListedAt): Promise<void> {
    const isFirst = !this.#pods.has(uid) && !this.#reads.has(uid);
    if (isFirst && !this.#deps.cache.isNewerThan(uid, listed.atMs)) {
      await this.#startReading(uid, listed);
    } else await this.#readNow(uid);
  }

  async #readNow(uid: string): Promise<void> {
    const running = this.#reads.get(uid);
    if (running === undefined) await this.#startReading(uid);
    else {
      running.again = true;
      await running.done;
    }
  }

  // What the agent creates and starts it reads by itself when it is done; only endings come by surprise.
  #onEvent(event: RuntimeEvent): void {
    if (event.kind === "created" || event.kind === "started") return;
    const uid = this.#podOfId.get(event.containerId);
    if (uid === undefined) {
      void this.#findPod(event);
      return;
    }
    const reading = event.kind === "stopped" ? this.#readUntilStopped(uid, event) : undefined;
    this.#inBackground(uid, reading ?? this.readWhenQuiet(uid));
  }

  /** The end of something that was never read: ask whose it is. */
  async #findPod(event: RuntimeEvent): Promise<void> {
    if (event.kind === "deleted") return;
    try {
      const listing = await listRuntime(this.#deps.runtime, this.#deps.clock, this.#signal);
      this.#podOfId = new Map([...this.#podOfId, ...listing.podOfId]);
      const uid = listing.podOfId.get(event.containerId);
      if (uid === undefined) return;
      if (event.kind === "stopped") await this.#readUntilStopped(uid, event);
      else this.requestRead(uid);
    } catch (error) {
      if (this.#signal.aborted) return;
      this.#deps.log.warn("cannot find the pod of an event", { error: errorText(error) });
    }
  }

  /** One end is told several times, and may be known already. */
  async #readUntilStopped(uid: string, { containerId, exit }: RuntimeEvent): Promise<void> {
    if (exit !== undefined) this.#exits.set(containerId, exit);
    if (this.#settling.has(containerId)) return;
    this.#settling.add(containerId);
    await this.#readWhileRunning(uid, containerId).finally(() =>
      this.#settling.delete(containerId),
    );
  }

  async #readWhileRunning(uid: string, containerId: string): Promise<void> {
    await this.#untilQuiet(uid);
    let hasRead = false;
    for (const delayMs of lagRetriesMs) {
      const pod = this.#pods.get(uid);
      const isOver = pod === undefined ? hasRead : hasEnded(pod, containerId);
      if (this.#signal.aborted || isOver) break;
      if (hasRead) await this.#sleep(delayMs);
      await this.#readNow(uid);
      hasRead = true;
    }
  }

  async #sleep(ms: number, stop?: AbortSignal): Promise<void> {
    const signals = stop === undefined ? [this.#signal] : [this.#signal, stop];
    const sleep = (either: AbortSignal) => this.#deps.clock.sleep(ms, either);
    await withEither(signals, sleep).catch(() => undefined);
  }
}
