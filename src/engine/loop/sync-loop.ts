import { coalesceUpdates } from "../../core/source/coalesce-updates.ts";
import type { SourceUpdate } from "../../core/source/merge-source.ts";
import { hasOutdatedReadiness } from "../../core/status/outdated-readiness.ts";
import type { PodUpdateType } from "../../core/worker/pod-update.ts";
import { Backoff } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import { parseTime } from "../../lib/time.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import type { Pod } from "../../model/pod.ts";
import { isMirrorPod } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Progress } from "../../ports/watchdog.ts";
import type { FaultPlace, Faults } from "../agent/faults.ts";
import type { ClusterParts } from "../cluster/cluster-parts.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodStartMetrics } from "../pods/pod-start-metrics.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import type { PodChanges } from "../view/pod-changes.ts";
import type { WorkQueue } from "./work-queue.ts";

const housekeepingMs = 2_000;
const backoffLimits = { initialMs: 100, maxMs: 5_000 };
/** When a pod is tried again that could not be handled. */
const faultRetryMs = 10_000;
/** Beyond that, updates of one pod become one. */
const longestQueue = 1_000;

export interface SyncLoopDeps {
  readonly registry: PodRegistry;
  readonly workers: PodWorkers;
  readonly queue: WorkQueue;
  readonly sources: SourceReadiness;
  readonly clock: Clock;
  readonly log: Log;
  readonly faults: Pick<Faults, "note">;
  readonly progress?: Progress | undefined;
  /** Refuses a pod that this node cannot run; it then has its final status already. */
  readonly admit: (pod: Pod) => boolean;
  /** Why the runtime cannot be worked with now; undefined when it can. */
  readonly runtimeProblem: () => string | undefined;
  readonly housekeep: () => Promise<void>;
  /** Resolves when nothing that has to go before that pod may start is left; undefined when there is nothing. */
  readonly whenClean: (pod: Pod) => Promise<void> | undefined;
  readonly allocations: Pick<
    PodAllocations,
    "noteAdded" | "noteUpdated" | "noteStatus" | "noteRemoved"
  >;
  readonly starts: Pick<PodStartMetrics, "noteNewPod">;
  readonly changes: Pick<PodChanges, "noteAdded" | "noteUpdated" | "noteRemoved">;
  /** Undefined = the node belongs to no cluster. */
  readonly cluster: Pick<ClusterParts, "noteShown"> | undefined;
}

/**
 * The one loop of the agent. It takes what happened (configuration, runtime, probes, time) and tells the pod
 * workers; it never waits for one of them.
 */
export class SyncLoop {
  readonly #deps: SyncLoopDeps;
  #updates: SourceUpdate[] = [];
  readonly #due = new Set<string>();
  readonly #work: WakeUp;
  readonly #resumed: WakeUp;
  #housekeepSoon = false;
  #lastHousekeptMs = Number.NEGATIVE_INFINITY;
  #lastTurnMs: number;

  constructor(deps: SyncLoopDeps) {
    this.#deps = deps;
    this.#lastTurnMs = deps.clock.monotonicMs();
    this.#work = new WakeUp(deps.clock);
    this.#resumed = new WakeUp(deps.clock);
  }

  /** When the loop last turned, on the monotonic clock: a loop that hangs shows here. */
  get lastTurnMs(): number {
    return this.#lastTurnMs;
  }

  deliver(update: SourceUpdate): void {
    this.#updates.push(update);
    // Nobody takes them while the runtime is away.
    if (this.#updates.length > longestQueue) this.#updates = [...coalesceUpdates(this.#updates)];
    this.#work.notify();
  }

  /** That pod wants a look. */
  requestSync(uid: string): void {
    this.#due.add(uid);
    this.#work.notify();
  }

  /** A time was set at which something is due. */
  wake(): void {
    this.#work.notify();
  }

  /** The runtime can be worked with again. */
  resume(): void {
    this.#resumed.notify();
  }

  /** Something ended: what is left of it need not wait for the next round. */
  requestHousekeeping(): void {
    this.#housekeepSoon = true;
    this.#work.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, runtimeProblem, progress } = this.#deps;
    const backoff = new Backoff(backoffLimits);
    while (!signal.aborted) {
      progress?.noteTurn();
      this.#lastTurnMs = clock.monotonicMs();
      const problem = runtimeProblem();
      if (problem !== undefined) {
        const delayMs = backoff.nextMs();
        const isFirst = delayMs === backoffLimits.initialMs;
        if (!isFirst) log.warn("waiting for the container runtime", { problem });
        this.#resumed.clear();
        await this.#resumed.wait(delayMs, signal);
        continue;
      }
      backoff.reset();
      await this.#turn();
      await this.#nextWork(signal);
    }
  }

  async #turn(): Promise<void> {
    for (const update of this.#updates.splice(0)) this.#handle(update);
    const due = new Set([...this.#due, ...this.#deps.queue.takeDue()]);
    this.#due.clear();
    for (const uid of due) {
      const pod = this.#deps.registry.get(uid);
      // One that was not admitted has no worker, and is left as it is.
      const isKnown = this.#deps.workers.stateOf(uid) !== undefined;
      if (pod === undefined || !isKnown) continue;
      this.#attempt("dispatch", pod, () => this.#dispatch(pod, "sync"));
    }
    const nowMs = this.#deps.clock.monotonicMs();
    if (!this.#housekeepSoon && nowMs - this.#lastHousekeptMs < housekeepingMs) return;
    this.#housekeepSoon = false;
    this.#lastHousekeptMs = nowMs;
    try {
      await this.#deps.housekeep();
    } catch (error) {
      this.#deps.log.warn("cannot tidy up, trying again", { error: errorText(error) });
    }
  }

  #handle({ op, source, pods }: SourceUpdate): void {
    this.#deps.log.debug("pods from a source", { op, source, count: pods.length });
    const { allocations, sources } = this.#deps;
    for (const pod of pods.toSorted(byBeginning)) {
      this.#attempt("intake", pod, () => this.#handlePod(op, pod));
    }
    sources.noteHandled(source);
    const real = pods.filter((pod) => !isMirrorPod(pod));
    if (op === "ADD") allocations.noteAdded(real);
    else if (op === "REMOVE") allocations.noteRemoved(real);
  }

  #handlePod(op: SourceUpdate["op"], pod: Pod): void {
    const { registry, workers, allocations, admit, starts, changes, cluster } = this.#deps;
    if (op === "REMOVE") {
      registry.remove(pod);
      if (isMirrorPod(pod)) {
        cluster?.noteShown(pod);
        return;
      }
      workers.updatePod({ updateType: "kill", pod });
      changes.noteRemoved(pod);
      return;
    }
    const before = registry.get(pod.metadata.uid);
    registry.set(pod);
    cluster?.noteShown(pod);
    if (isMirrorPod(pod)) return;
    switch (op) {
      case "ADD":
        starts.noteNewPod(pod);
        changes.noteAdded(pod);
        if (!workers.isPodTerminationRequested(pod.metadata.uid) && !admit(pod)) return;
        this.#dispatch(pod, "create");
        return;
      case "UPDATE":
      case "DELETE":
        changes.noteUpdated(pod);
        allocations.noteUpdated(before, pod);
        this.#dispatch(pod, "update");
        return;
      case "RECONCILE":
        if (before !== undefined) allocations.noteStatus(before, pod);
        if (hasOutdatedReadiness(pod)) this.#dispatch(pod, "sync");
        return;
    }
  }

  #dispatch(pod: Pod, updateType: PodUpdateType): void {
    const { workers, registry, whenClean, clock } = this.#deps;
    const requestedAtMs = clock.monotonicMs();
    const send = (): void =>
      workers.updatePod({ updateType, pod, mirrorPod: registry.mirrorOf(pod), requestedAtMs });
    const cleaning = whenClean(pod);
    if (cleaning === undefined) send();
    else void this.#dispatchAfter(cleaning, pod, updateType);
  }

  // Meanwhile the pod may have been removed, and something else may be in its way.
  async #dispatchAfter(
    cleaning: Promise<void>,
    pod: Pod,
    updateType: PodUpdateType,
  ): Promise<void> {
    const { registry, faults } = this.#deps;
    const { uid } = pod.metadata;
    await cleaning.catch((error: unknown) => faults.note(error, "dispatch", uid));
    if (registry.get(uid) === undefined) return;
    this.#attempt("dispatch", pod, () => this.#dispatch(pod, updateType));
  }

  /** What one pod makes this loop throw costs that pod a delay, and no other pod anything. */
  #attempt(during: FaultPlace, { metadata }: Pod, work: () => void): void {
    this.#deps.progress?.noteStep(metadata.uid, during);
    try {
      work();
    } catch (error) {
      this.#deps.faults.note(error, during, metadata.uid);
      this.#deps.queue.enqueue(metadata.uid, faultRetryMs);
    }
  }

  /** Waits until something was delivered or a time has come. */
  async #nextWork(signal: AbortSignal): Promise<void> {
    if (this.#updates.length > 0 || this.#due.size > 0 || this.#housekeepSoon) return;
    const { clock, queue } = this.#deps;
    const housekeepInMs = this.#lastHousekeptMs + housekeepingMs - clock.monotonicMs();
    const dueInMs = Math.min(housekeepInMs, queue.nextDueInMs() ?? housekeepInMs);
    // Whole milliseconds: a timer is no finer, and what is left of one may be too little for any clock to pass.
    const waitMs = Math.max(0, Math.ceil(dueInMs));
    // What came in during the turn was handled in it.
    this.#work.clear();
    await this.#work.wait(waitMs, signal);
  }
}

/** Who was here first keeps its place: room and ports are given in this order. */
function byBeginning(a: Pod, b: Pod): number {
  return beginningMs(a) - beginningMs(b);
}

function beginningMs({ metadata, status }: Pod): number {
  const time = metadata.creationTimestamp ?? status?.startTime;
  return (time === undefined ? undefined : parseTime(time)) ?? Number.MAX_SAFE_INTEGER;
}
