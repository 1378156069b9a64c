import { onAbort } from "../../lib/on-abort.ts";
import { type PodUid, type RuntimeContainerId, rawContainerId } from "../../model/ids.ts";
import { type ContainerExit, emptyObservedPod, type ObservedPod } from "../../model/observed.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { Observation, PodTable, SliceWriter } from "../pods/pod-table.ts";
import { fingerprintOf, listedFingerprint, type RuntimeListing } from "./runtime-listing.ts";

const nothingKnown: Observation = {};

/**
 * What the runtime has of every pod, as last read. A state is never taken for newer than it is: its time is that at
 * which the read began.
 */
export class ObservedPods {
  readonly #observations: SliceWriter<"observed">;
  readonly #wakeups: Pick<Wakeups, "read">;
  /** The pod of each sandbox and container, by the runtime's id. */
  #podOfId = new Map<string, PodUid>();
  #listedAtMs = Number.NEGATIVE_INFINITY;

  constructor(table: PodTable, wakeups: Pick<Wakeups, "read">) {
    this.#observations = table.writer("observed");
    this.#wakeups = wakeups;
  }

  /** Whether all pods of the runtime are known. */
  get isListed(): boolean {
    return this.#listedAtMs > Number.NEGATIVE_INFINITY;
  }

  /** The pods that the runtime has anything of, as last read. */
  *all(): IterableIterator<ObservedPod> {
    for (const [, { state }] of this.#observations.entries()) {
      if (state !== undefined && !isEmpty(state)) yield state;
    }
  }

  /** The pod as last read; undefined when the runtime had nothing of it. */
  find(uid: PodUid): ObservedPod | undefined {
    const { state } = this.#get(uid);
    return state === undefined || isEmpty(state) ? undefined : state;
  }

  /** Whether the runtime has anything of the pod, as last read, or listed and not yet read. */
  has(uid: PodUid): boolean {
    return isInRuntime(this.#observations.get(uid));
  }

  /** The runtime's ids of all containers that run, as last read. */
  *runningContainers(): IterableIterator<RuntimeContainerId> {
    for (const { containers } of this.all()) {
      for (const { id, state } of containers) if (state === "running") yield rawContainerId(id);
    }
  }

  /** Whether anything was read that does not run: an ended container, or a sandbox without its network. */
  get hasDead(): boolean {
    for (const { containers, sandboxes } of this.all()) {
      if (containers.some(({ state }) => state !== "running")) return true;
      if (sandboxes.some(({ state }) => state !== "ready")) return true;
    }
    return false;
  }

  /** The ids of images that containers have mounted. */
  mountedImages(): readonly string[] {
    return [...this.all()]
      .flatMap(({ containers }) => containers.flatMap(({ mounts = [] }) => mounts))
      .flatMap(({ image = "" }) => image || []);
  }

  /** The UID of the pod that has the container or sandbox of that id of the runtime. */
  podOf(id: string): PodUid | undefined {
    return this.#podOfId.get(id);
  }

  exitOf(uid: PodUid, containerId: RuntimeContainerId): ContainerExit | undefined {
    return this.#get(uid).exits?.get(containerId);
  }

  noteExit(uid: PodUid, containerId: RuntimeContainerId, exit: ContainerExit): void {
    this.#update(uid, { exits: new Map([...(this.#get(uid).exits ?? []), [containerId, exit]]) });
  }

  /** The last state, empty for an unknown pod. Throws what the last read threw. */
  get(uid: PodUid): ObservedPod {
    const { state, error, unread } = this.#get(uid);
    if (error !== undefined) throw error;
    if (unread !== undefined) throw new Error("the runtime has not reported this pod's state yet");
    return state ?? emptyObservedPod(uid, "", "");
  }

  /** The first state that was read after `minMs`; waits for it if it is not there yet. */
  async getNewerThan(uid: PodUid, minMs: number, signal: AbortSignal): Promise<ObservedPod> {
    if (!this.isNewerThan(uid, minMs)) await this.#nextRead(uid, minMs, signal);
    return this.get(uid);
  }

  /** Whether the pod was read after `minMs`. */
  isNewerThan(uid: PodUid, minMs: number): boolean {
    const observation = this.#get(uid);
    if (isStale(observation)) return false;
    return (observation.readAtMs ?? this.#listedAtMs) > minMs;
  }

  /** Passes every state that is stored to the one who works on the pod, until the returned function is called. */
  follow(uid: PodUid, onState: (observed: ObservedPod) => void): () => void {
    this.#update(uid, { follower: onState });
    return () => {
      if (this.#get(uid).follower === onState) this.#update(uid, { follower: undefined });
    };
  }

  /**
   * Stores what a read found; a read that began before the stored one is dropped. True when the pod changed, or when
   * those who act on it waited for this whatever it says.
   */
  set(uid: PodUid, found: ObservedPod | Error, readAtMs: number): boolean {
    const before = this.#get(uid);
    if (before.readAtMs !== undefined && before.readAtMs > readAtMs) return false;
    if (found instanceof Error) {
      this.#update(uid, { error: found, readAtMs });
      this.#notify(uid, readAtMs);
      return false;
    }
    const state = withKnownIps(found, before.state);
    const unread = isStale({ ...before, readAtMs }) ? before.unread : undefined;
    this.#update(uid, { state, error: undefined, readAtMs, unread });
    before.follower?.(state);
    this.#notify(uid, readAtMs);
    const isAwaited = before.error !== undefined || before.unread !== unread;
    if (!isAwaited && fingerprintOf(state) === fingerprintOf(before.state)) return false;
    for (const { id } of state.sandboxes) this.#podOfId.set(id, uid);
    for (const { id } of state.containers) this.#podOfId.set(rawContainerId(id), uid);
    return true;
  }

  /** Takes in a listing that was asked for at that time: UIDs of the pods that are not as they were last read. */
  beginListing({ pods, podOfId, keys }: RuntimeListing, listedAtMs: number): readonly PodUid[] {
    this.#podOfId = new Map(podOfId);
    const gone: PodUid[] = [];
    for (const [uid, observation] of this.#observations.entries()) {
      if (isInRuntime(observation) && !pods.has(uid)) gone.push(uid);
      const { exits } = observation;
      const listed = [...(exits ?? [])].filter(([id]) => podOfId.has(id));
      if (listed.length !== (exits?.size ?? 0)) this.#update(uid, { exits: new Map(listed) });
    }
    const changed: PodUid[] = [];
    for (const [uid, listed] of pods) {
      const { state, unread } = this.#get(uid);
      if (fingerprintOf(state) === listedFingerprint(listed)) continue;
      changed.push(uid);
      if (state !== undefined && !isEmpty(state)) continue;
      const isLate = unread?.isLate ?? false;
      this.#update(uid, { unread: { listedAtMs, key: keys.get(uid) ?? uid, isLate } });
    }
    return [...gone, ...changed];
  }

  /** Only their own workers wait for those of the pods that are still not read; returns their names. */
  noteLate(uids: readonly PodUid[]): readonly string[] {
    const late: string[] = [];
    for (const uid of uids) {
      const { unread, error } = this.#get(uid);
      if (unread === undefined || unread.isLate || error !== undefined) continue;
      this.#update(uid, { unread: { ...unread, isLate: true } });
      late.push(unread.key);
    }
    return late;
  }

  /** The pods of a listing of that time were read, or are known to be unread: any other did not exist then. */
  endListing(listedAtMs: number): void {
    this.#listedAtMs = listedAtMs;
    for (const [uid, { waiters, readAtMs, unread }] of this.#observations.entries()) {
      if (waiters === undefined || readAtMs !== undefined || unread !== undefined) continue;
      this.#notify(uid, listedAtMs);
    }
  }

  /** Adds the ids of a listing that was made for the sake of one of them. */
  noteIds(podOfId: ReadonlyMap<string, PodUid>): void {
    for (const [id, uid] of podOfId) this.#podOfId.set(id, uid);
  }

  #get(uid: PodUid): Observation {
    return this.#observations.get(uid) ?? nothingKnown;
  }

  #update(uid: PodUid, changes: Partial<Observation>): void {
    this.#observations.set(uid, { ...this.#get(uid), ...changes });
  }

  #nextRead(uid: PodUid, minMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const abort = (): void => {
        this.#removeWaiter(uid, waiter);
        reject(signal.reason);
      };
      const waiter = {
        minMs,
        resolve: () => {
          release();
          resolve();
        },
      };
      this.#update(uid, { waiters: new Set([...(this.#get(uid).waiters ?? []), waiter]) });
      const release = onAbort(signal, abort);
      this.#wakeups.read(uid);
    });
  }

  #notify(uid: PodUid, readAtMs: number): void {
    const observation = this.#get(uid);
    if (isStale(observation)) return;
    for (const waiter of observation.waiters ?? []) {
      // A waiter asked for this read, so one that began in the same instant is new enough.
      if (readAtMs < waiter.minMs) continue;
      this.#removeWaiter(uid, waiter);
      waiter.resolve();
    }
  }

  #removeWaiter(uid: PodUid, waiter: { readonly minMs: number }): void {
    const waiters = [...(this.#get(uid).waiters ?? [])].filter((other) => other !== waiter);
    this.#update(uid, { waiters: waiters.length === 0 ? undefined : new Set(waiters) });
  }
}

/** Whether the runtime has anything of a pod, as last read, or listed and not yet read. */
export function isInRuntime({ state, unread }: Observation = nothingKnown): boolean {
  return unread !== undefined || (state !== undefined && !isEmpty(state));
}

/** Whether the last read, if any, began before the pod was listed. */
function isStale({ readAtMs, unread }: Observation): boolean {
  return unread !== undefined && (readAtMs === undefined || readAtMs < unread.listedAtMs);
}

function isEmpty({ containers, sandboxes }: ObservedPod): boolean {
  return containers.length === 0 && sandboxes.length === 0;
}

// A sandbox that has stopped has no addresses any more; its pod's status keeps those it had.
function withKnownIps(found: ObservedPod, before: ObservedPod | undefined): ObservedPod {
  const isReady = found.sandboxes.some(({ state }) => state === "ready");
  if (before === undefined || found.ips.length > 0 || isReady) return found;
  return { ...found, ips: before.ips };
}
