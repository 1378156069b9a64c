import type { KillReason } from "../../core/status/killed-status.ts";
import { type KillPodOptions, type PodUpdate, subjectUid } from "../../core/worker/pod-update.ts";
import { type RequeueSettings, requeueDelayMs } from "../../core/worker/requeue.ts";
import { isRuntimeStopped } from "../../core/worker/runtime-stopped.ts";
import {
  emptyStaticOrder,
  joinStaticOrder,
  leaveStaticOrder,
  type StaticOrder,
  takeStaticTurn,
} from "../../core/worker/static-order.ts";
import { transitionWorker, type WorkerEvent } from "../../core/worker/transition.ts";
import {
  couldHaveRunningContainers,
  describeWorker,
  isPodKnownTerminated,
  isPodTerminationRequested,
  type KnownPod,
  shouldPodBeFinished,
  shouldPodContainersBeTerminating,
  shouldPodContentBeRemoved,
  shouldPodRuntimeBeRemoved,
} from "../../core/worker/worker-queries.ts";
import type { PodWork, PodWorkOutcome, WorkerState } from "../../core/worker/worker-state.ts";
import { isProgrammingError } from "../../lib/assert.ts";
import { withEither } from "../../lib/with-either.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { Faults } from "../agent/faults.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import { PodSyncError, type PodSyncer } from "./pod-syncer.ts";
import { callSyncer } from "./pod-worker-call.ts";

/** Even without any grace a kill takes its time. */
const shortestKillSeconds = 10;

export interface PodWorkersDependencies {
  readonly syncer: PodSyncer;
  readonly observed: Pick<ObservedPods, "get" | "getNewerThan">;
  /** Where a pod is put that wants another look; whoever empties it sends a "sync" update. */
  readonly queue: { enqueue(uid: string, delayMs: number): void };
  readonly clock: Clock;
  /** From 0 (included) to 1 (excluded). */
  readonly random: () => number;
  readonly settings: RequeueSettings;
  readonly events: PodEvents;
  readonly log: Log;
  readonly faults: Pick<Faults, "note" | "attempt">;
  /** The pod with the resources that were granted to it, which may differ from those it asks for. */
  readonly allocatedPod: (pod: Pod) => Pod;
  /** Told how long a wish took from when it arose until it was carried out. */
  readonly metrics: Pick<Metrics, "observe">;
  /** Told when a pod came to its end: its name is free, and what it left can go. */
  readonly onFinished: (uid: string) => void;
}

interface Worker {
  readonly uid: string;
  state: WorkerState | undefined;
  /** When the last call ended: what is observed before says nothing about its effect. */
  lastActedAtMs: number;
  abort: AbortController | undefined;
  /** Ends when there is nothing to do for the pod. */
  running: Promise<void> | undefined;
}

/**
 * One worker per pod UID, each of which makes one call at a time and always acts on the newest wish. The
 * decisions are those of `transitionWorker`; this class only waits and calls.
 */
export class PodWorkers {
  readonly #deps: PodWorkersDependencies;
  readonly #workers = new Map<string, Worker>();
  readonly #running = new Set<Promise<void>>();
  /** By the number of the request. */
  readonly #killWaiters = new Map<number, () => void>();
  #lastKillRequest = 0;
  #staticOrder: StaticOrder = emptyStaticOrder;
  #podsSynced = false;
  #stopped = false;

  constructor(deps: PodWorkersDependencies) {
    this.#deps = deps;
  }

  /** Tells a pod's worker what is wanted; never waits. */
  updatePod(wanted: PodUpdate): void {
    if (this.#stopped) return;
    const uid = subjectUid(wanted);
    const known = this.#workers.get(uid);
    const worker = known ?? newWorker(uid);
    const update =
      wanted.pod === undefined ? wanted : { ...wanted, pod: this.#deps.allocatedPod(wanted.pod) };
    const runtimeStopped = known === undefined && this.#isRuntimeStopped(uid);
    this.#workers.set(uid, worker);
    this.#apply(worker, { kind: "update", update, runtimeStopped }, () => {
      if (known !== undefined || worker.state === undefined) return;
      if (update.pod === undefined || !isStaticPod(update.pod)) return;
      this.#staticOrder = joinStaticOrder(this.#staticOrder, worker.state.fullName, uid);
    });
  }

  /** Kills a pod and waits until nothing of it runs; rejects when that takes half as long again as it may. */
  async killPod(
    pod: Pod,
    kill: Omit<KillPodOptions, "request">,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, events } = this.#deps;
    const graceSeconds = kill.graceSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 0;
    const waitSeconds = Math.max(graceSeconds + Math.trunc(graceSeconds / 2), shortestKillSeconds);
    const done = new AbortController();
    const timer = withEither([signal, done.signal], (either) =>
      clock.sleep(waitSeconds * 1000, either),
    );
    const request = this.awaitKill(() => done.abort());
    this.updatePod({ updateType: "kill", pod, kill: { ...kill, request } });
    try {
      await timer;
    } catch (error) {
      if (done.signal.aborted) return;
      throw error;
    } finally {
      this.#killWaiters.delete(request);
    }
    events.record(pod, {
      type: "Warning",
      reason: "ExceededGracePeriod",
      message: "Container runtime did not kill the pod within specified grace period.",
    });
    throw new Error("timeout waiting to kill pod");
  }

  /** The number to kill with for somebody who waits. */
  awaitKill(onKilled: () => void): number {
    this.#lastKillRequest += 1;
    this.#killWaiters.set(this.#lastKillRequest, onKilled);
    return this.#lastKillRequest;
  }

  /**
   * Housekeeping, once every wanted pod was handed to `updatePod`: drives pods that nobody wants any more to
   * their end and forgets those that got there. A desired pod that is missing in the answer must be created again.
   */
  syncKnownPods(desired: ReadonlySet<string>): Map<string, KnownPod> {
    this.#podsSynced = true;
    const known = new Map<string, KnownPod>();
    for (const worker of this.#workers.values()) {
      const wanted = desired.has(worker.uid);
      this.#deps.faults.attempt("worker", worker.uid, () =>
        this.#apply(worker, { kind: "reconcile", desired: wanted }),
      );
      if (worker.state !== undefined) known.set(worker.uid, describeWorker(worker.state, !wanted));
    }
    return known;
  }

  /** Resolves when no worker makes a call or has one to make. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Aborts all calls and accepts no wishes any more. Pods are left as they are. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const worker of this.#workers.values()) worker.abort?.abort();
    await this.idle();
  }

  /** Where the pod is in its life; undefined when it has no worker. */
  stateOf(uid: string): WorkerState["state"] | undefined {
    return this.#state(uid)?.state;
  }

  /** Ends with what is being done to that pod; undefined when nothing is. */
  workOn(uid: string): Promise<void> | undefined {
    return this.#workers.get(uid)?.running;
  }

  /** Whether another pod of that full name has begun and not yet stopped, whatever can be seen of it. */
  hasBegunOther(fullName: string, uid: string): boolean {
    for (const worker of this.#workers.values()) {
      const { state } = worker;
      if (worker.uid === uid || state?.fullName !== fullName) continue;
      if (state.state === "syncing" || state.state === "terminating") return true;
    }
    return false;
  }

  isPodKnownTerminated(uid: string): boolean {
    return isPodKnownTerminated(this.#state(uid));
  }

  couldHaveRunningContainers(uid: string): boolean {
    return couldHaveRunningContainers(this.#state(uid), this.#podsSynced);
  }

  shouldPodBeFinished(uid: string): boolean {
    return shouldPodBeFinished(this.#state(uid), this.#podsSynced);
  }

  isPodTerminationRequested(uid: string): boolean {
    return isPodTerminationRequested(this.#state(uid));
  }

  shouldPodContainersBeTerminating(uid: string): boolean {
    return shouldPodContainersBeTerminating(this.#state(uid), this.#podsSynced);
  }

  shouldPodRuntimeBeRemoved(uid: string): boolean {
    return shouldPodRuntimeBeRemoved(this.#state(uid), this.#podsSynced);
  }

  shouldPodContentBeRemoved(uid: string): boolean {
    return shouldPodContentBeRemoved(this.#state(uid), this.#podsSynced);
  }

  /** A static pod of that full name is on its way down, so its mirror pod must stay. */
  isPodForMirrorPodTerminatingByFullName(fullName: string): boolean {
    const uid = this.#staticOrder.startedByFullName.get(fullName);
    return uid !== undefined && this.#state(uid)?.state === "terminating";
  }

  /** The static pod that holds the full name: it has begun and not ended. */
  startedStaticPod(fullName: string): string | undefined {
    return this.#staticOrder.startedByFullName.get(fullName);
  }

  #state(uid: string): WorkerState | undefined {
    return this.#workers.get(uid)?.state;
  }

  #isRuntimeStopped(uid: string): boolean {
    try {
      return isRuntimeStopped(this.#deps.observed.get(uid));
    } catch {
      return false;
    }
  }

  #apply(worker: Worker, event: WorkerEvent, beforeEffects?: () => void): PodWork | undefined {
    const before = worker.state;
    const { state, effects } = transitionWorker(before, event);
    worker.state = state;
    beforeEffects?.();
    if (before !== undefined && (state === undefined || state.state === "finished")) {
      this.#staticOrder = leaveStaticOrder(this.#staticOrder, before.fullName, worker.uid);
      if (state?.state !== before.state) {
        this.#deps.faults.attempt("worker", worker.uid, () => this.#deps.onFinished(worker.uid));
      }
    }
    if (state === undefined && this.#workers.get(worker.uid) === worker) {
      this.#workers.delete(worker.uid);
    }
    let work: PodWork | undefined;
    for (const effect of effects) {
      switch (effect.kind) {
        case "wake":
          this.#wake(worker);
          break;
        case "cancel":
          worker.abort?.abort();
          break;
        case "notify":
          for (const request of effect.kills) this.#killWaiters.get(request)?.();
          break;
        case "perform":
          work = effect.work;
          break;
        case "requeue": {
          const { queue, settings, clock, random } = this.#deps;
          const delayMs = requeueDelayMs(effect.requeue, settings, clock.nowMs(), random());
          queue.enqueue(worker.uid, delayMs);
          break;
        }
      }
    }
    return work;
  }

  #wake(worker: Worker): void {
    if (worker.running !== undefined) return;
    const running = this.#run(worker).finally(() => this.#running.delete(running));
    worker.running = running;
    this.#running.add(running);
  }

  /** Works until there is nothing to do for the pod. */
  async #run(worker: Worker): Promise<void> {
    // The caller of updatePod goes on first: wishes that come together are taken together.
    await Promise.resolve();
    try {
      while (!this.#stopped && (await this.#workOnce(worker)));
    } catch (error) {
      const { faults, queue, settings } = this.#deps;
      faults.note(error, "worker", worker.uid);
      queue.enqueue(worker.uid, settings.backoffMs);
    }
    worker.running = undefined;
  }

  /** False when there is nothing to do. */
  async #workOnce(worker: Worker): Promise<boolean> {
    const work = this.#begin(worker);
    if (work === undefined) return false;
    const { clock, metrics } = this.#deps;
    const outcome = await this.#perform(worker, work);
    this.#apply(worker, { kind: "complete", work: work.kind, outcome });
    if (work.requestedAtMs !== undefined) {
      const operation = work.kind === "clean-up" ? "terminated" : work.updateType;
      const seconds = (clock.monotonicMs() - work.requestedAtMs) / 1000;
      const labels = { operation_type: operation };
      metrics.observe("kubelet_pod_worker_duration_seconds", seconds, labels);
    }
    return true;
  }

  #begin(worker: Worker): PodWork | undefined {
    return this.#apply(worker, { kind: "begin", turn: this.#takeTurn(worker) });
  }

  #takeTurn({ uid, state }: Worker): boolean {
    if (state?.state !== "wait-to-start" || !isStaticPod(state.pending.pod)) return true;
    const turn = takeStaticTurn(this.#staticOrder, state.fullName, uid, (other) => {
      const known = this.#state(other);
      return known?.state === "wait-to-start" || known?.state === "syncing";
    });
    this.#staticOrder = turn.order;
    return turn.granted;
  }

  async #perform(worker: Worker, work: PodWork): Promise<PodWorkOutcome> {
    const { syncer, clock } = this.#deps;
    const abort = new AbortController();
    worker.abort = abort;
    try {
      const observe = () => this.#observe(worker, work, abort.signal);
      const acknowledge = () => this.#acknowledge(worker);
      const acted = (): void => {
        worker.lastActedAtMs = clock.monotonicMs();
      };
      const context = { syncer, observe, acknowledge, acted };
      const terminal = await callSyncer(work, context, abort.signal);
      return { kind: "done", terminal };
    } catch (error) {
      if (abort.signal.aborted) return { kind: "cancelled" };
      const message = error instanceof Error ? error.message : String(error);
      if (isProgrammingError(error)) this.#deps.faults.note(error, "sync", worker.uid);
      const retryAtMs = error instanceof PodSyncError ? error.retryAtMs : undefined;
      // A back-off that runs its course is no news.
      const level = retryAtMs === undefined ? "warn" : "debug";
      const pod = podOf(work);
      this.#deps.log[level]("pod not in sync, trying again", { pod, podUid: worker.uid, message });
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

  #acknowledge(worker: Worker): KillReason | undefined {
    this.#apply(worker, { kind: "acknowledge" });
    const { state } = worker;
    return state?.state === "terminating" ? state.reason : undefined;
  }
}

/** As people name the pod. */
function podOf(work: PodWork): string {
  if (work.kind !== "terminate-runtime") return podKey(work.pod);
  return `${work.runningPod.namespace}/${work.runningPod.name}`;
}

function newWorker(uid: string): Worker {
  return {
    uid,
    state: undefined,
    lastActedAtMs: Number.NEGATIVE_INFINITY,
    abort: undefined,
    running: undefined,
  };
}
