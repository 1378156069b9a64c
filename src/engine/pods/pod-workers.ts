import { withAllocation } from "../../core/allocation/pod-allocation.ts";
import type { PodKillReason } from "../../core/status/killed-status.ts";
import { type KillPodOptions, type PodUpdate, subjectUid } from "../../core/worker/pod-update.ts";
import { isRuntimeStopped } from "../../core/worker/runtime-stopped.ts";
import { isSameReason } from "../../core/worker/start-gate.ts";
import { transitionWorker, type WorkerEvent } from "../../core/worker/transition.ts";
import type { WorkerTransition } from "../../core/worker/worker-effect.ts";
import { awaitsStart, isPodKnownTerminated } from "../../core/worker/worker-queries.ts";
import type { PodWork, PodWorkOutcome, WorkerState } from "../../core/worker/worker-state.ts";
import { isProgrammingError } from "../../lib/assert.ts";
import { isDoneWithin } from "../../lib/deadline.ts";
import type { PodUid } from "../../model/ids.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { AgentPorts } from "../agent/agent-ports.ts";
import type { Faults } from "../agent/faults.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { WorkQueue } from "../loop/work-queue.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import type { PodChanges } from "../view/pod-changes.ts";
import { PodSyncError, type PodSyncer, type RuntimeProgress } from "./pod-syncer.ts";
import type { PodTable, PodWorker, SliceWriter } from "./pod-table.ts";
import { askStartGate } from "./start-gate.ts";
import type { WorkerStates } from "./worker-states.ts";

/** Even without any grace a kill takes its time. */
const shortestKillSeconds = 10;

export interface PodWorkersDeps {
  readonly table: PodTable;
  readonly syncer: PodSyncer;
  readonly observed: Pick<ObservedPods, "get" | "getNewerThan">;
  /** Pods that are due another sync; the loop empties it and sends "sync" updates. */
  readonly queue: Pick<WorkQueue, "requeue">;
  readonly events: PodEvents;
  readonly faults: Pick<Faults, "note" | "attempt">;
  readonly ports: Pick<AgentPorts, "clock" | "log" | "metrics">;
  readonly states: Pick<WorkerStates, "noteSynced">;
  readonly changes: Pick<PodChanges, "noteStatus">;
  readonly wakeups: Pick<Wakeups, "housekeep" | "askToStart" | "retryResizes">;
}

/** This class alone changes it; for everybody else it is the slice `worker`. */
type Worker = { -readonly [Key in keyof PodWorker]: PodWorker[Key] };

/**
 * One worker per pod UID, each of which makes one call at a time and always acts on the newest update. The
 * decisions are those of `transitionWorker`; this class only waits and calls.
 */
export class PodWorkers {
  readonly #deps: PodWorkersDeps;
  readonly #workers: SliceWriter<"worker">;
  readonly #running = new Set<Promise<void>>();
  /** By the number of the request. */
  readonly #killWaiters = new Map<number, () => void>();
  #lastKillRequest = 0;
  #arrivals = 0;
  #stopped = false;
  /** Some pod may not start yet. */
  #doesAnyWait = false;

  constructor(deps: PodWorkersDeps) {
    this.#deps = deps;
    this.#workers = deps.table.writer("worker");
  }

  /** Hands an update to the pod's worker; never waits. */
  updatePod(wanted: PodUpdate): void {
    if (this.#stopped) return;
    const uid = subjectUid(wanted);
    const known = this.#workers.get(uid);
    const update =
      wanted.pod === undefined ? wanted : { ...wanted, pod: this.#withGranted(wanted.pod) };
    const runtimeStopped = known === undefined && this.#isRuntimeStopped(uid);
    const event = { kind: "update", update, runtimeStopped } as const;
    const transition = transitionWorker(known?.state, event);
    const worker = known === undefined ? this.#create(uid, transition.state) : known;
    if (worker !== undefined) this.#move(worker, transition);
  }

  /** Kills a pod and waits until nothing of it runs; rejects when that takes half as long again as it may. */
  async killPod(
    pod: Pod,
    kill: Omit<KillPodOptions, "request">,
    signal: AbortSignal,
  ): Promise<void> {
    const { ports, events } = this.#deps;
    const graceSeconds = kill.graceSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 0;
    const waitSeconds = Math.max(graceSeconds + Math.trunc(graceSeconds / 2), shortestKillSeconds);
    let request = 0;
    const killed = new Promise<void>((resolve) => {
      request = this.awaitKill(resolve);
    });
    this.updatePod({ updateType: "kill", pod, kill: { ...kill, request } });
    const isKilled = await isDoneWithin(ports.clock, killed, waitSeconds * 1000, signal);
    this.#killWaiters.delete(request);
    if (isKilled) return;
    signal.throwIfAborted();
    events.record(pod, {
      type: "Warning",
      reason: "ExceededGracePeriod",
      message: "Container runtime did not kill the pod within specified grace period.",
    });
    throw new Error("timeout waiting to kill pod");
  }

  /** The number of a kill whose end a caller waits for. */
  awaitKill(onKilled: () => void): number {
    this.#lastKillRequest += 1;
    this.#killWaiters.set(this.#lastKillRequest, onKilled);
    return this.#lastKillRequest;
  }

  /**
   * Housekeeping, once every wanted pod was handed to `updatePod`: drives pods that no source wants any more to
   * their end and forgets those that got there. A desired pod whose worker was forgotten must be created again.
   */
  syncKnownPods(desired: ReadonlySet<PodUid>): void {
    this.#deps.states.noteSynced();
    for (const [uid, worker] of this.#workers.entries()) {
      const wanted = desired.has(uid);
      this.#deps.faults.attempt("worker", uid, () =>
        this.#apply(worker, { kind: "reconcile", desired: wanted }),
      );
    }
  }

  /** Asks again for the pods that wait whether they may start. */
  askToStart(): void {
    if (!this.#doesAnyWait) return;
    this.#doesAnyWait = false;
    for (const [uid, worker] of this.#workers.entries()) {
      if (worker.waitsFor === undefined) continue;
      this.#deps.faults.attempt("worker", uid, () => this.#ask(worker));
      this.#doesAnyWait ||= worker.waitsFor !== undefined;
    }
  }

  /** Resolves when no worker makes a call or has one to make. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Aborts all calls and accepts no updates any more. Pods are left as they are. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const reason = new Error("the agent stops");
    for (const [, worker] of this.#workers.entries()) worker.abort?.abort(reason);
    await this.idle();
  }

  /** With the resources that the pod was granted, which may differ from those that it asks for. */
  #withGranted(pod: Pod): Pod {
    return withAllocation(pod, this.#deps.table.get(pod.metadata.uid)?.allocated);
  }

  #isRuntimeStopped(uid: PodUid): boolean {
    try {
      return isRuntimeStopped(this.#deps.observed.get(uid));
    } catch {
      return false;
    }
  }

  #create(uid: PodUid, state: WorkerState | undefined): Worker | undefined {
    if (state === undefined) return undefined;
    this.#arrivals += 1;
    const worker: Worker = {
      uid,
      state,
      arrival: this.#arrivals,
      waitsFor: undefined,
      lastActedAtMs: Number.NEGATIVE_INFINITY,
      abort: undefined,
      running: undefined,
    };
    this.#workers.set(uid, worker);
    return worker;
  }

  #apply(worker: Worker, event: WorkerEvent): PodWork | undefined {
    // One that was forgotten, and perhaps replaced, has nothing to do any more.
    if (this.#workers.get(worker.uid) !== worker) return undefined;
    return this.#move(worker, transitionWorker(worker.state, event));
  }

  #move(worker: Worker, { state, effects }: WorkerTransition): PodWork | undefined {
    const before = worker.state.state;
    if (state === undefined) this.#workers.set(worker.uid, undefined);
    else worker.state = state;
    if (state?.state !== before) this.#noteMove(state);
    let work: PodWork | undefined;
    for (const effect of effects) {
      switch (effect.kind) {
        case "wake":
          this.#wake(worker);
          break;
        case "cancel":
          worker.abort?.abort(
            new Error(
              before === "terminating" ? "the grace period was shortened" : "the pod is to end",
            ),
          );
          break;
        case "notify":
          for (const request of effect.kills) this.#killWaiters.get(request)?.();
          break;
        case "perform":
          work = effect.work;
          break;
        case "requeue":
          this.#deps.queue.requeue(worker.uid, effect.requeue);
          break;
      }
    }
    return work;
  }

  /** Others may wait for what the pod held: its name, its resources. */
  #noteMove(state: WorkerState | undefined): void {
    const { wakeups } = this.#deps;
    if (state !== undefined && !isPodKnownTerminated(state)) return;
    wakeups.askToStart();
    if (state?.state === "terminated") return;
    wakeups.retryResizes();
    wakeups.housekeep();
  }

  #wake(worker: Worker): void {
    if (worker.running !== undefined) return;
    const running = this.#run(worker).finally(() => this.#running.delete(running));
    worker.running = running;
    this.#running.add(running);
  }

  /** Works until there is nothing to do for the pod. */
  async #run(worker: Worker): Promise<void> {
    // The caller of updatePod goes on first: updates that come together are taken together.
    await Promise.resolve();
    try {
      for (let work = this.#begin(worker); work !== undefined; work = this.#begin(worker)) {
        await this.#workOnce(worker, work);
      }
    } catch (error) {
      const { faults, queue } = this.#deps;
      faults.note(error, "worker", worker.uid);
      queue.requeue(worker.uid, { kind: "backoff" });
    }
    worker.running = undefined;
  }

  async #workOnce(worker: Worker, work: PodWork): Promise<void> {
    const outcome = await this.#perform(worker, work);
    this.#apply(worker, { kind: "complete", work: work.kind, outcome });
    if (work.requestedAtMs !== undefined) {
      const { clock, metrics } = this.#deps.ports;
      const seconds = (clock.monotonicMs() - work.requestedAtMs) / 1000;
      const labels = { operation_type: work.kind === "clean-up" ? "terminated" : work.updateType };
      metrics.observe("kubelet_pod_worker_duration_seconds", seconds, labels);
    }
  }

  #begin(worker: Worker): PodWork | undefined {
    if (this.#stopped) return undefined;
    this.#askGate(worker);
    return this.#apply(worker, { kind: "begin", mayStart: worker.waitsFor === undefined });
  }

  #ask(worker: Worker): void {
    this.#askGate(worker);
    if (worker.waitsFor === undefined) this.#wake(worker);
  }

  #askGate(worker: Worker): void {
    const { table, wakeups, changes } = this.#deps;
    const { uid, state, waitsFor: before } = worker;
    const reason = awaitsStart(state) ? askStartGate(table, uid, state.fullName) : undefined;
    worker.waitsFor = reason;
    this.#doesAnyWait ||= reason !== undefined;
    if (isSameReason(reason, before)) return;
    // The other pod may not have been asked to end yet.
    if (reason?.kind === "name") wakeups.housekeep();
    changes.noteStatus(uid);
  }

  async #perform(worker: Worker, work: PodWork): Promise<PodWorkOutcome> {
    const { syncer, ports } = this.#deps;
    const abort = new AbortController();
    worker.abort = abort;
    try {
      const observe = () => this.#observe(worker, work, abort.signal);
      const acknowledge = () => this.#acknowledge(worker);
      const acted = (): void => {
        worker.lastActedAtMs = ports.clock.monotonicMs();
      };
      const context = { syncer, observe, acknowledge, acted };
      const terminal = await callSyncer(work, context, abort.signal);
      return { kind: "done", terminal };
    } catch (error) {
      if (abort.signal.aborted) return { kind: "cancelled" };
      const message = error instanceof Error ? error.message : String(error);
      if (isProgrammingError(error)) this.#deps.faults.note(error, "sync", worker.uid);
      const retryAtMs = error instanceof PodSyncError ? error.retryAtMs : undefined;
      // A back-off that takes its time is normal.
      const level = retryAtMs === undefined ? "warn" : "debug";
      const pod = podOf(work);
      ports.log[level]("pod not in sync, trying again", { pod, podUid: worker.uid, message });
      return { kind: "failed", message, retryAtMs };
    } finally {
      worker.abort = undefined;
    }
  }

  async #observe(worker: Worker, work: PodWork, signal: AbortSignal): Promise<ObservedPod> {
    const { observed, events } = this.#deps;
    try {
      return await observed.getNewerThan(worker.uid, worker.lastActedAtMs, signal);
    } catch (error) {
      if (!signal.aborted && work.kind !== "terminate-runtime") {
        const reason = error instanceof Error ? error.message : String(error);
        const message = `error determining status: ${reason}`;
        events.record(work.pod, { type: "Warning", reason: "FailedSync", message });
      }
      throw error;
    }
  }

  #acknowledge(worker: Worker): PodKillReason | undefined {
    this.#apply(worker, { kind: "acknowledge" });
    const { state } = worker;
    return state.state === "terminating" ? state.reason : undefined;
  }
}

/** As people name the pod. */
function podOf(work: PodWork): string {
  if (work.kind !== "terminate-runtime") return podKey(work.pod);
  return `${work.runningPod.namespace}/${work.runningPod.name}`;
}

/** What a call may ask of its worker. */
interface PodWorkContext {
  readonly syncer: PodSyncer;
  /** The pod as it is now, not as it was before the worker's last call. */
  readonly observe: () => Promise<ObservedPod>;
  /** From here on no container is started. Returns the reason of the newest kill. */
  readonly acknowledge: () => PodKillReason | undefined;
  /** Until now the call may have changed something in the runtime. */
  readonly acted: () => void;
}

/** Makes the one call that the work stands for; true if the pod ran to its end by itself. */
async function callSyncer(
  work: PodWork,
  { syncer, observe, acknowledge, acted }: PodWorkContext,
  signal: AbortSignal,
): Promise<boolean> {
  if (work.kind === "terminate-runtime") {
    acknowledge();
    await syncer.syncTerminatingRuntimePod(work.runningPod, signal).finally(acted);
    return false;
  }
  const observed = await observe();
  const { pod } = work;
  switch (work.kind) {
    case "sync": {
      const { updateType, mirrorPod } = work;
      return withProgress(acted, async (progress) => {
        const request = { updateType, pod, mirrorPod, observed, progress };
        return (await syncer.syncPod(request, signal)).terminal;
      });
    }
    case "terminate": {
      const { graceSeconds } = work;
      const killReason = acknowledge();
      await withProgress(acted, (progress) => {
        const request = { pod, observed, graceSeconds, killReason, progress };
        return syncer.syncTerminatingPod(request, signal);
      });
      return false;
    }
    case "clean-up":
      await syncer.syncTerminatedPod({ pod, observed }, signal).finally(acted);
      return false;
  }
}

async function withProgress<T>(
  acted: () => void,
  call: (progress: RuntimeProgress) => Promise<T>,
): Promise<T> {
  let isReported = false;
  const changed = (): void => {
    isReported = true;
    acted();
  };
  const unchanged = (): void => {
    isReported = true;
  };
  try {
    const result = await call({ changed, unchanged });
    if (!isReported) acted();
    return result;
  } catch (error) {
    acted();
    throw error;
  }
}
