import { coalesceUpdates } from "../../core/source/coalesce-updates.ts";
import type { SourceUpdate } from "../../core/source/merge-source.ts";
import { Backoff } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import { parseTime } from "../../lib/time.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Watchdog } from "../../ports/watchdog.ts";
import type { FaultPlace, Faults } from "../agent/faults.ts";
import type { PodUpdates } from "../intake/pod-updates.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import type { RuntimeHealth } from "../observe/runtime-health.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { Housekeeping } from "./housekeeping.ts";
import type { WorkQueue } from "./work-queue.ts";

const housekeepingMs = 2_000;
/** A round looks at every pod: however many end at once, there are not more rounds than this. */
const soonestHousekeepingMs = 100;
const backoffLimits = { initialMs: 100, maxMs: 5_000 };
/** A runtime that just started takes that long. */
const normalWaitMs = 5_000;
/** When a pod is tried again that could not be handled. */
const faultRetryMs = 10_000;
/** Beyond that, updates of one pod become one. */
const longestQueue = 1_000;

export interface SyncLoopDeps {
  readonly updates: PodUpdates;
  readonly workers: Pick<PodWorkers, "askToStart">;
  readonly housekeeping: Pick<Housekeeping, "run">;
  readonly queue: WorkQueue;
  readonly health: Pick<RuntimeHealth, "problem">;
  readonly observed: Pick<ObservedPods, "isListed">;
  readonly clock: Clock;
  readonly log: Log;
  readonly faults: Pick<Faults, "note">;
  readonly watchdog?: Pick<Watchdog, "progress"> | undefined;
}

/**
 * The one loop of the agent. It takes what happened (configuration, runtime, probes, time) and hands it to the
 * pod workers; it never waits for one of them.
 */
export class SyncLoop {
  readonly #deps: SyncLoopDeps;
  #updates: SourceUpdate[] = [];
  readonly #work: WakeUp;
  readonly #resumed: WakeUp;
  #housekeepSoon = false;
  #askSoon = false;
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
    // They are not handled while the runtime is away.
    if (this.#updates.length > longestQueue) this.#updates = [...coalesceUpdates(this.#updates)];
    this.#work.notify();
  }

  /** That pod is due a look. */
  requestSync(uid: PodUid): void {
    this.#deps.queue.request(uid);
    this.#work.notify();
  }

  /** All wanted pods are due a look. */
  requestSyncAll(): void {
    this.#deps.queue.requestAll();
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

  /** Something changed that pods may wait for. */
  askToStart(): void {
    this.#askSoon = true;
    this.#work.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, watchdog } = this.#deps;
    const backoff = new Backoff(backoffLimits);
    let waitsSinceMs: number | undefined;
    while (!signal.aborted) {
      watchdog?.progress.noteTurn();
      this.#lastTurnMs = clock.monotonicMs();
      const problem = this.#runtimeProblem();
      if (problem !== undefined) {
        waitsSinceMs ??= this.#lastTurnMs;
        const level = this.#lastTurnMs - waitsSinceMs > normalWaitMs ? "warn" : "debug";
        log[level]("waiting for the container runtime", { problem });
        this.#resumed.clear();
        await this.#resumed.wait(backoff.nextMs(), signal);
        continue;
      }
      backoff.reset();
      waitsSinceMs = undefined;
      await this.#turn();
      await this.#nextWork(signal);
    }
  }

  /** Why the runtime cannot be worked with now; undefined when it can. */
  #runtimeProblem(): string | undefined {
    const { health, observed } = this.#deps;
    return health.problem ?? (observed.isListed ? undefined : "its pods are not known yet");
  }

  get #nextHousekeepingMs(): number {
    const pauseMs = this.#housekeepSoon ? soonestHousekeepingMs : housekeepingMs;
    return this.#lastHousekeptMs + pauseMs;
  }

  async #turn(): Promise<void> {
    for (const update of this.#updates.splice(0)) this.#handle(update);
    this.#lookAtDue();
    const nowMs = this.#deps.clock.monotonicMs();
    const isTime = nowMs >= this.#nextHousekeepingMs;
    if (this.#askSoon || isTime) {
      this.#askSoon = false;
      this.#deps.workers.askToStart();
    }
    if (!isTime) return;
    this.#housekeepSoon = false;
    this.#lastHousekeptMs = nowMs;
    try {
      await this.#deps.housekeeping.run();
    } catch (error) {
      this.#deps.log.warn("housekeeping failed, trying again", { error: errorText(error) });
    }
  }

  #handle({ op, source, pods }: SourceUpdate): void {
    const { log, updates } = this.#deps;
    log.debug("pods from a source", { op, source, count: pods.length });
    for (const pod of pods.toSorted(byBeginning)) {
      this.#attempt("intake", pod.metadata.uid, () => updates.take(op, pod));
    }
    updates.noteHandled({ op, source, pods });
  }

  #lookAtDue(): void {
    const { queue, updates } = this.#deps;
    for (const uid of queue.takeDue()) {
      this.#attempt("dispatch", uid, () => updates.sync(uid));
    }
  }

  /** What one pod makes this loop throw costs that pod a delay, and no other pod anything. */
  #attempt(during: FaultPlace, uid: PodUid, work: () => void): void {
    this.#deps.watchdog?.progress.noteStep(uid, during);
    try {
      work();
    } catch (error) {
      this.#deps.faults.note(error, during, uid);
      this.#deps.queue.enqueue(uid, faultRetryMs);
    }
  }

  /** Waits until something was delivered or a time has come. */
  async #nextWork(signal: AbortSignal): Promise<void> {
    if (this.#updates.length > 0 || this.#askSoon) return;
    const { clock, queue } = this.#deps;
    const housekeepInMs = this.#nextHousekeepingMs - clock.monotonicMs();
    const dueInMs = Math.min(housekeepInMs, queue.nextDueInMs() ?? housekeepInMs);
    // Whole milliseconds: timers are not finer, and what is left of one may be too little for any clock to pass.
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
