import { isTerminalPhase } from "../../../src/core/status/phase.ts";
import type { PodUpdate } from "../../../src/core/worker/pod-update.ts";
import { requeueDelayMs } from "../../../src/core/worker/requeue.ts";
import type { WorkerState } from "../../../src/core/worker/worker-state.ts";
import { ObservedPods } from "../../../src/engine/observe/observed-pods.ts";
import type { PodSyncer } from "../../../src/engine/pods/pod-syncer.ts";
import { PodTable } from "../../../src/engine/pods/pod-table.ts";
import { PodWorkers } from "../../../src/engine/pods/pod-workers.ts";
import { WorkerStates } from "../../../src/engine/pods/worker-states.ts";
import { podUid } from "../../../src/model/ids.ts";
import { emptyObservedPod, type ObservedPod } from "../../../src/model/observed.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { isStaticPod } from "../../../src/model/pod-source.ts";
import { loudFaults } from "../../kit/loud-faults.ts";
import { noMetrics } from "../../kit/no-metrics.ts";
import { silentLog } from "../../kit/silent-log.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

type Method = keyof PodSyncer;

type Step =
  | {
      readonly op: "updatePod";
      readonly updateType: PodUpdate["updateType"];
      readonly pod?: Pod;
      readonly runningPod?: {
        readonly id: string;
        readonly name: string;
        readonly namespace: string;
      };
      readonly killPodOptions?: {
        readonly evict?: boolean;
        readonly gracePeriodOverride?: number;
        readonly completedID?: string;
        readonly statusFn?: string;
      };
    }
  | { readonly op: "syncKnownPods"; readonly desired: readonly string[] | null }
  | { readonly op: "hold" | "release"; readonly uid: string }
  | {
      readonly op: "setResult";
      readonly uid: string;
      readonly method: Method;
      readonly result: { readonly terminal?: boolean; readonly error?: string };
    };

interface Input {
  readonly uids: readonly string[];
  readonly fullNames: readonly string[];
  readonly runtimeRunning: readonly string[] | null;
  readonly steps: readonly Step[];
}

type Lists<T> = Record<string, T[]>;

export const podWorkers: VectorDomain = vectorDomain<Input>("pod-workers", run, comparable);

async function run(input: Input): Promise<object> {
  const bench = new Bench(input);
  const steps = [];
  for (const step of input.steps) steps.push(await bench.step(step));
  await bench.end();
  return { steps };
}

/**
 * A kubelet never knows that a static pod has ended before it ran it: it keeps no statuses. From there on it has nothing
 * to compare with an agent that does, which cleans up after such a pod.
 */
function comparable(value: unknown, { steps }: Input): unknown {
  const { steps: all } = value as { readonly steps: readonly unknown[] };
  const firstEnded = steps.findIndex((step) => step.op === "updatePod" && isEndedStatic(step.pod));
  return firstEnded < 0 ? all : all.slice(0, firstEnded);
}

function isEndedStatic(pod: Pod | undefined): boolean {
  return pod !== undefined && isStaticPod(pod) && isTerminalPhase(pod.status?.phase);
}

/** The syncer and the queue that the vectors talk about, around the real workers. */
class Bench {
  readonly #input: Input;
  readonly #table = new PodTable();
  readonly #workers: PodWorkers;
  readonly #states: WorkerStates;
  readonly #held = new Map<string, Set<() => void>>();
  readonly #results = new Map<string, { terminal?: boolean; error?: string }[]>();
  readonly #completed: string[] = [];
  #calls: Lists<object> = {};
  #enqueued: Lists<string> = {};

  constructor(input: Input) {
    this.#input = input;
    const table = this.#table;
    this.#states = new WorkerStates(table);
    // A kubelet does not look at what the runtime has when it starts a pod.
    const observed = new ObservedPods(new PodTable(), { read: () => undefined });
    for (const uid of input.runtimeRunning ?? []) observed.set(podUid(uid), runningPod(uid), 1);
    observed.endListing(1);
    this.#workers = new PodWorkers({
      faults: loudFaults,
      observed,
      syncer: this.#syncer(),
      queue: {
        requeue: (uid, requeue) => {
          const settings = { resyncIntervalMs: 60_000, backoffMs: 10_000 };
          (this.#enqueued[uid] ??= []).push(delayName(requeueDelayMs(requeue, settings, 0, 0.5)));
        },
      },
      table,
      ports: {
        clock: {
          nowMs: () => 0,
          monotonicMs: () => 0,
          startTimer: () => ({ stop: () => undefined }),
          sleep: () => Promise.resolve(),
        },
        log: silentLog,
        metrics: noMetrics,
      },
      events: { record: () => undefined },
      states: this.#states,
      changes: { noteStatus: ignore },
      wakeups: { housekeep: ignore, askToStart: ignore, retryResizes: ignore },
    });
  }

  async step(step: Step): Promise<object> {
    this.#forget();
    const known = this.#take(step);
    await untilBlocked();
    return {
      calls: this.#calls,
      enqueued: this.#enqueued,
      completedKills: this.#completed.toSorted(),
      queries: Object.fromEntries(this.#input.uids.map((uid) => [uid, this.#queries(uid)])),
      isPodForMirrorPodTerminatingByFullName: Object.fromEntries(
        this.#input.fullNames.map((name) => [
          name,
          this.#states.isPodForMirrorPodTerminatingByFullName(name),
        ]),
      ),
      ...(known === undefined ? {} : { known }),
    };
  }

  async end(): Promise<void> {
    this.#forget();
    await this.#workers.stop();
  }

  #forget(): void {
    this.#calls = {};
    this.#enqueued = {};
  }

  /** The pods that the step leaves known, where the vectors ask for them. */
  #take(step: Step): Readonly<Record<string, object>> | undefined {
    switch (step.op) {
      case "updatePod":
        this.#workers.updatePod(this.#update(step));
        return undefined;
      case "syncKnownPods": {
        const desired = new Set((step.desired ?? []).map(podUid));
        this.#workers.syncKnownPods(desired);
        const known: Record<string, object> = {};
        for (const { uid, worker } of this.#table.all()) {
          if (worker !== undefined) known[uid] = describe(worker.state, !desired.has(uid));
        }
        return known;
      }
      case "hold":
        this.#held.set(step.uid, new Set());
        return undefined;
      case "release": {
        const waiting = this.#held.get(step.uid) ?? [];
        this.#held.delete(step.uid);
        for (const release of waiting) release();
        return undefined;
      }
      case "setResult": {
        const key = `${step.uid} ${step.method}`;
        this.#results.set(key, [...(this.#results.get(key) ?? []), step.result]);
        return undefined;
      }
    }
  }

  #update({ updateType, pod, runningPod, killPodOptions }: Step & { op: "updatePod" }): PodUpdate {
    if (pod === undefined) {
      const { id, name, namespace } = runningPod ?? { id: "", name: "", namespace: "" };
      const kill = { graceSeconds: 1 };
      return { updateType, runningPod: emptyObservedPod(podUid(id), name, namespace), kill };
    }
    if (killPodOptions === undefined) return { updateType, pod: apart(pod) };
    const { evict, gracePeriodOverride, completedID, statusFn } = killPodOptions;
    const kill = {
      evict,
      graceSeconds: gracePeriodOverride,
      request: completedID === undefined ? undefined : this.#request(completedID),
      reason: statusFn === undefined ? undefined : { reason: statusFn, message: "" },
    };
    return { updateType, pod: apart(pod), kill };
  }

  #request(id: string): number {
    return this.#workers.awaitKill(() => void this.#completed.push(id));
  }

  #syncer(): PodSyncer {
    return {
      syncPod: async ({ updateType, pod }, signal) => {
        const call = { method: "syncPod" as const, updateType, rev: revision(pod) };
        return { terminal: await this.#call(pod.metadata.uid, call, signal) };
      },
      syncTerminatingPod: async ({ pod, graceSeconds, killReason }, signal) => {
        const call = {
          method: "syncTerminatingPod" as const,
          rev: revision(pod),
          gracePeriod: graceSeconds ?? null,
          statusFn: killReason?.reason ?? null,
        };
        await this.#call(pod.metadata.uid, call, signal);
      },
      syncTerminatingRuntimePod: async ({ uid, name }, signal) => {
        const call = { method: "syncTerminatingRuntimePod" as const, name };
        await this.#call(uid, call, signal);
      },
      syncTerminatedPod: async ({ pod }, signal) => {
        const call = { method: "syncTerminatedPod" as const, rev: revision(pod) };
        await this.#call(pod.metadata.uid, call, signal);
      },
    };
  }

  async #call(uid: string, call: { method: Method }, signal: AbortSignal): Promise<boolean> {
    const note = (more: object): void => {
      (this.#calls[uid] ??= []).push({ ...call, ...more });
    };
    let resumed = {};
    const held = this.#held.get(uid);
    if (held !== undefined) {
      note({});
      resumed = { resumed: true };
      await new Promise<void>((resolve) => {
        held.add(resolve);
        signal.addEventListener("abort", () => resolve());
      });
      if (signal.aborted) {
        note({ ...resumed, outcome: "canceled" });
        throw new Error("canceled");
      }
    }
    const { terminal = false, error } = this.#results.get(`${uid} ${call.method}`)?.shift() ?? {};
    note({ ...resumed, outcome: error !== undefined ? "error" : terminal ? "terminal" : "ok" });
    if (error !== undefined) throw new Error(error);
    return terminal;
  }

  #queries(uid: string): object {
    const states = this.#states;
    return {
      isPodKnownTerminated: states.isPodKnownTerminated(podUid(uid)),
      couldHaveRunningContainers: states.couldHaveRunningContainers(podUid(uid)),
      shouldPodBeFinished: states.shouldPodBeFinished(podUid(uid)),
      isPodTerminationRequested: states.isPodTerminationRequested(podUid(uid)),
      shouldPodContainersBeTerminating: states.shouldPodContainersBeTerminating(podUid(uid)),
      shouldPodRuntimeBeRemoved: states.shouldPodRuntimeBeRemoved(podUid(uid)),
      shouldPodContentBeRemoved: states.shouldPodContentBeRemoved(podUid(uid)),
    };
  }
}

/** A worker as a kubelet's housekeeping gets it. */
function describe(worker: WorkerState, orphan: boolean): object {
  const active = "active" in worker ? worker.active : undefined;
  const pending = "pending" in worker ? worker.pending : undefined;
  const pod = (active ?? pending)?.pod;
  return {
    state: kubeletStates[worker.state],
    orphan,
    hasConfig: pod !== undefined,
    static: pod !== undefined && isStaticPod(pod),
  };
}

const kubeletStates = {
  "wait-to-start": "sync",
  syncing: "sync",
  terminating: "terminating",
  terminated: "terminated",
  finished: "terminated",
} as const satisfies Record<WorkerState["state"], string>;

/** A kubelet keeps only static pods of one name apart: pods of the API server never have one name at once. */
function apart(pod: Pod): Pod {
  if (isStaticPod(pod)) return pod;
  const { name, uid } = pod.metadata;
  return { ...pod, metadata: { ...pod.metadata, name: `${name}-${uid}` } };
}

function runningPod(uid: string): ObservedPod {
  return {
    ...emptyObservedPod(podUid(uid), "", ""),
    sandboxes: [{ id: "s", state: "ready", attempt: 0, createdAtMs: 0, network: "pod" }],
  };
}

function revision(pod: Pod): string | undefined {
  return pod.metadata.annotations?.["rev"];
}

/** With jitter of a quarter. */
function delayName(delayMs: number): string {
  const names = new Map([
    [0, "immediate"],
    [75_000, "resync"],
    [12_500, "backoff"],
    [1250, "networkBackoff"],
  ]);
  return names.get(delayMs) ?? String(delayMs);
}

/** Everything that can go on without time passing has gone on. */
function untilBlocked(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function ignore(): void {}
