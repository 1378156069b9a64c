import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import type { PodUpdate } from "../../core/worker/pod-update.ts";
import type { Requeue } from "../../core/worker/requeue.ts";
import { podUid } from "../../model/ids.ts";
import { emptyObservedPod, type ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import { ObservedPods } from "../observe/observed-pods.ts";
import { PodSyncError, type PodSyncer } from "./pod-syncer.ts";
import { PodTable } from "./pod-table.ts";
import { PodWorkers, type PodWorkersDeps } from "./pod-workers.ts";
import { WorkerStates } from "./worker-states.ts";

const uidOld = podUid("old");
const uid1 = podUid("1");

const uids = ["1", "2", "3"] as const;

function staticPod(uid: string, metadata: Partial<Pod["metadata"]> = {}): Pod {
  const annotations = { "kubernetes.io/config.source": "file" };
  return buildPod({
    metadata: { name: "a", namespace: "ns", uid, annotations, ...metadata },
    spec: { containers: [], terminationGracePeriodSeconds: 30 },
  });
}

/** Resolves when nothing more can happen without outside help. */
function untilBlocked(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** A syncer whose every call waits for `finish`, or ends with an error when it is aborted. */
class SteppedSyncer implements PodSyncer {
  readonly log: string[] = [];
  readonly inProgress = new Map<
    string,
    { readonly resolve: () => void; readonly fail: (error: Error) => void }
  >();

  async syncPod({ pod }: { pod: Pod }, signal: AbortSignal) {
    await this.#wait(pod.metadata.uid, "sync", signal);
    return { terminal: false };
  }

  syncTerminatingPod({ pod }: { pod: Pod }, signal: AbortSignal) {
    return this.#wait(pod.metadata.uid, "terminate", signal);
  }

  syncTerminatingRuntimePod({ uid }: { uid: string }, signal: AbortSignal) {
    return this.#wait(uid, "terminate-runtime", signal);
  }

  syncTerminatedPod({ pod }: { pod: Pod }, signal: AbortSignal) {
    return this.#wait(pod.metadata.uid, "clean-up", signal);
  }

  /** Ends all calls, and those that follow from them, until none is in progress. */
  async finishAll(): Promise<void> {
    await untilBlocked();
    while (this.inProgress.size > 0) {
      for (const { resolve } of this.inProgress.values()) resolve();
      await untilBlocked();
    }
  }

  #wait(uid: string, call: string, signal: AbortSignal): Promise<void> {
    if (this.inProgress.has(uid)) throw new Error(`two calls at once for pod ${uid}`);
    this.log.push(`${call} ${uid}`);
    return new Promise<void>((resolve, fail) => {
      this.inProgress.set(uid, { resolve, fail });
      signal.addEventListener("abort", () => fail(new Error("aborted")));
    }).finally(() => this.inProgress.delete(uid));
  }
}

function ignore(): void {}

interface SetUp {
  readonly clock?: PodWorkersDeps["ports"]["clock"];
  readonly events?: PodWorkersDeps["events"];
  readonly isListed?: boolean;
}

const stillClock = {
  nowMs: () => 0,
  monotonicMs: () => 0,
  startTimer: () => ({ stop: () => undefined }),
  sleep: () => Promise.resolve(),
};

function setUp({ clock = stillClock, events, isListed = true }: SetUp = {}) {
  const syncer = new SteppedSyncer();
  const table = new PodTable();
  const reads: string[] = [];
  const observed = new ObservedPods(table, { read: (uid) => void reads.push(uid) });
  if (isListed) observed.endListing(1);
  const requeues: Requeue[] = [];
  const woken: string[] = [];
  const removals = table.writer("removal");
  const states = new WorkerStates(table);
  const workers = new PodWorkers({
    table,
    syncer,
    observed,
    queue: { requeue: (_uid, requeue) => void requeues.push(requeue) },
    ports: { clock, log: silentLog, metrics: noMetrics },
    events: events ?? { record: ignore },
    faults: loudFaults,
    states,
    changes: { noteStatus: (uid) => void woken.push(`watchers of ${uid}`) },
    wakeups: {
      housekeep: () => void woken.push("housekeeping"),
      askToStart: () => void woken.push("gate"),
      retryResizes: () => void woken.push("resizes"),
    },
  });
  return { workers, states, syncer, observed, reads, table, requeues, woken, removals };
}

function updateOf(uid: string, update: "create" | "sync" | "delete" | "kill"): PodUpdate {
  if (update !== "delete") return { updateType: update, pod: staticPod(uid) };
  const deletionTimestamp = "2026-05-04T10:00:00Z";
  return { updateType: "update", pod: staticPod(uid, { deletionTimestamp }) };
}

describe("static pods of one full name", () => {
  type Action =
    | {
        readonly kind: "update";
        readonly uid: string;
        readonly update: "create" | "sync" | "delete" | "kill";
      }
    | { readonly kind: "finish"; readonly uid: string }
    | { readonly kind: "fail"; readonly uid: string }
    | { readonly kind: "housekeeping"; readonly desired: readonly string[] };

  const action: fc.Arbitrary<Action> = fc.oneof(
    fc.record({
      kind: fc.constant("update" as const),
      uid: fc.constantFrom(...uids),
      update: fc.constantFrom("create", "sync", "delete", "kill"),
    }),
    fc.record({
      kind: fc.constantFrom("finish" as const, "fail" as const),
      uid: fc.constantFrom(...uids),
    }),
    fc.record({ kind: fc.constant("housekeeping" as const), desired: fc.subarray([...uids]) }),
  );

  test("never two of them at once, no way back from the end, and all of them end when no source wants them", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
        const { workers, states, syncer, table } = setUp();
        const endedUids = new Set<string>();
        for (const step of actions) {
          if (step.kind === "update") workers.updatePod(updateOf(step.uid, step.update));
          if (step.kind === "finish") syncer.inProgress.get(step.uid)?.resolve();
          if (step.kind === "fail") syncer.inProgress.get(step.uid)?.fail(new Error("broken"));
          if (step.kind === "housekeeping") {
            workers.syncKnownPods(new Set(step.desired.map(podUid)));
            for (const uid of uids) {
              if (table.get(podUid(uid))?.worker === undefined) endedUids.delete(uid);
            }
          }
          const endedBefore = new Set(endedUids);
          const logLength = syncer.log.length;
          await untilBlocked();
          const living = [...syncer.inProgress.keys()].filter(
            (uid) => !states.isPodKnownTerminated(podUid(uid)),
          );
          expect(living.length).toBeLessThanOrEqual(1);
          for (const uid of uids) {
            if (states.isPodKnownTerminated(podUid(uid))) endedUids.add(uid);
          }
          expect([...endedUids].filter((uid) => !states.isPodKnownTerminated(podUid(uid)))).toEqual(
            [],
          );
          const revived = syncer.log
            .slice(logLength)
            .filter((call) => !call.startsWith("clean-up") && endedBefore.has(call.slice(-1)));
          expect(revived).toEqual([]);
        }
        for (let round = 0; round < 4; round++) {
          await syncer.finishAll();
          workers.syncKnownPods(new Set());
          workers.askToStart();
        }
        await workers.idle();
        for (const uid of uids) expect(states.couldHaveRunningContainers(podUid(uid))).toBe(false);
        workers.syncKnownPods(new Set());
        expect([...table.all()].filter(({ worker }) => worker !== undefined)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test("the next one starts when it is looked at again after the first one ended", async () => {
    const { workers, syncer } = setUp();
    workers.updatePod({ updateType: "create", pod: staticPod("1") });
    workers.updatePod({ updateType: "create", pod: staticPod("2") });
    await syncer.finishAll();
    workers.updatePod({ updateType: "kill", pod: staticPod("1") });
    await syncer.finishAll();
    workers.askToStart();
    await syncer.finishAll();
    expect(syncer.log).toEqual(["sync 1", "terminate 1", "clean-up 1", "sync 2"]);
  });
});

describe("the start gate", () => {
  const running: ObservedPod = {
    ...emptyObservedPod(uidOld, "a", "ns"),
    sandboxes: [{ id: "s", state: "ready", attempt: 0, createdAtMs: 0, network: "pod" }],
  };
  const pod = buildPod({ metadata: { name: "a", namespace: "ns", uid: "1" } });

  test("holds a pod, with its reason, until what it waits for is gone", async () => {
    const { workers, syncer, table, requeues, woken, observed } = setUp();
    observed.set(uidOld, running, 2);
    workers.updatePod({ updateType: "create", pod });
    await workers.idle();
    expect(syncer.log).toEqual([]);
    const waitsFor = { kind: "name", uid: "old", other: "runs" };
    expect(table.get(uid1)?.worker).toMatchObject({
      state: { state: "wait-to-start" },
      waitsFor,
    });
    expect(requeues).toEqual([{ kind: "backoff" }]);
    // The other pod may not have been asked to end yet.
    expect(woken).toEqual(["housekeeping", "watchers of 1"]);
    workers.askToStart();
    await workers.idle();
    expect(syncer.log).toEqual([]);
    expect(woken).toEqual(["housekeeping", "watchers of 1"]);
    observed.set(uidOld, emptyObservedPod(uidOld, "a", "ns"), 3);
    workers.askToStart();
    await syncer.finishAll();
    expect(syncer.log).toEqual(["sync 1"]);
    expect(table.get(uid1)?.worker?.waitsFor).toBeUndefined();
  });

  test("holds a pod that came back while what it left is removed, also if it is to end", async () => {
    const { workers, syncer, removals } = setUp();
    removals.set(uid1, { state: "running", ended: Promise.resolve() });
    workers.updatePod({ updateType: "create", pod });
    workers.updatePod({ updateType: "kill", pod });
    await workers.idle();
    expect(syncer.log).toEqual([]);
    removals.set(uid1, { state: "done" });
    workers.askToStart();
    await syncer.finishAll();
    expect(syncer.log).toEqual(["terminate 1", "clean-up 1"]);
  });

  test("does not hold the end of a pod that only the runtime knows", async () => {
    const { workers, syncer, removals } = setUp();
    removals.set(uidOld, { state: "running", ended: Promise.resolve() });
    workers.updatePod({ updateType: "kill", runningPod: running });
    await syncer.finishAll();
    expect(syncer.log).toEqual(["terminate-runtime old"]);
  });

  test("does not hold a pod that has begun", async () => {
    const { workers, syncer, observed } = setUp();
    workers.updatePod({ updateType: "create", pod });
    await syncer.finishAll();
    observed.set(uidOld, running, 2);
    workers.updatePod({ updateType: "update", pod });
    await syncer.finishAll();
    expect(syncer.log).toEqual(["sync 1", "sync 1"]);
  });

  test("is asked again when a pod has stopped, and housekeeping follows when it has ended", async () => {
    const { workers, syncer, woken } = setUp();
    workers.updatePod({ updateType: "create", pod });
    await syncer.finishAll();
    workers.updatePod({ updateType: "kill", pod });
    await untilBlocked();
    expect(woken).toEqual([]);
    syncer.inProgress.get("1")?.resolve();
    await untilBlocked();
    expect(woken).toEqual(["gate"]);
    await syncer.finishAll();
    expect(woken).toEqual(["gate", "gate", "resizes", "housekeeping"]);
  });
});

test("a worker that is forgotten before its first call makes none, also when another takes its place", async () => {
  const { workers, syncer, table, requeues } = setUp();
  workers.updatePod({ updateType: "create", pod: staticPod("1") });
  workers.syncKnownPods(new Set());
  expect(table.get(uid1)?.worker).toBeUndefined();
  await untilBlocked();
  expect(syncer.log).toEqual([]);
  workers.updatePod({ updateType: "create", pod: staticPod("1") });
  workers.syncKnownPods(new Set());
  workers.updatePod({ updateType: "create", pod: staticPod("1") });
  await syncer.finishAll();
  expect(syncer.log).toEqual(["sync 1"]);
  expect(requeues).toHaveLength(1);
});

test("a worker waits for a state that was read after its last call", async () => {
  let nowMs = 5;
  const { workers, syncer, observed, reads } = setUp({
    isListed: false,
    clock: {
      nowMs: () => 0,
      monotonicMs: () => nowMs,
      startTimer: () => ({ stop: () => undefined }),
      sleep: () => Promise.resolve(),
    },
  });
  observed.set(uid1, emptyObservedPod(uid1, "a", "ns"), 1);
  workers.updatePod({ updateType: "create", pod: staticPod("1") });
  await syncer.finishAll();
  workers.updatePod({ updateType: "update", pod: staticPod("1") });
  await syncer.finishAll();
  expect(syncer.log).toEqual(["sync 1"]);
  expect(reads).toEqual(["1"]);
  observed.set(uid1, emptyObservedPod(uid1, "a", "ns"), 6);
  nowMs = 7;
  await syncer.finishAll();
  expect(syncer.log).toEqual(["sync 1", "sync 1"]);
});

test("a pod that cannot be observed gets an event, and is tried again", async () => {
  const recorded: string[] = [];
  const { workers, syncer, observed, requeues } = setUp({
    events: { record: (_pod, event) => void recorded.push(`${event.reason}: ${event.message}`) },
  });
  observed.set(uid1, new Error("runtime is gone"), 2);
  workers.updatePod({ updateType: "create", pod: staticPod("1") });
  await workers.idle();
  expect(syncer.log).toEqual([]);
  expect(recorded).toEqual(["FailedSync: error determining status: runtime is gone"]);
  expect(requeues).toEqual([{ kind: "backoff" }]);
});

test.each<{ error: Error; requeue: Requeue }>([
  { error: new PodSyncError("back-off", 4000), requeue: { kind: "backoff", untilMs: 4000 } },
  { error: new Error("network is not ready: no plugin"), requeue: { kind: "transient" } },
  { error: new Error("broken"), requeue: { kind: "backoff", untilMs: undefined } },
])("after $error a pod is tried again: $requeue.kind", async ({ error, requeue }) => {
  const { workers, syncer, requeues } = setUp();
  workers.updatePod({ updateType: "create", pod: staticPod("1") });
  await untilBlocked();
  syncer.inProgress.get("1")?.fail(error);
  await workers.idle();
  expect(requeues).toEqual([requeue]);
});

test("stopping aborts the calls in progress and starts none", async () => {
  const { workers, syncer } = setUp();
  workers.updatePod({ updateType: "create", pod: staticPod("1") });
  await untilBlocked();
  workers.updatePod({ updateType: "update", pod: staticPod("1") });
  await workers.stop();
  workers.updatePod({ updateType: "update", pod: staticPod("1") });
  await untilBlocked();
  expect(syncer.log).toEqual(["sync 1"]);
  expect(syncer.inProgress.size).toBe(0);
});

describe("a caller that waits for a kill", () => {
  const notInTime: Clock["startTimer"] = () => ({ stop: () => undefined });

  function setUpKill(startTimer: Clock["startTimer"]) {
    const reasons: string[] = [];
    const sleep = (): Promise<void> => new Promise(() => undefined);
    const made = setUp({
      clock: { nowMs: () => 0, monotonicMs: () => 0, startTimer, sleep },
      events: { record: (_pod, { reason }) => void reasons.push(reason) },
    });
    return { ...made, reasons };
  }

  test("it is over when nothing of the pod runs, not before and not only when all is cleaned up", async () => {
    const { workers, syncer, reasons } = setUpKill(notInTime);
    workers.updatePod({ updateType: "create", pod: staticPod("1") });
    await syncer.finishAll();
    const order: string[] = [];
    const kill = async (): Promise<void> => {
      await workers.killPod(staticPod("1"), { evict: true }, new AbortController().signal);
      order.push("killed");
    };
    const killing = kill();
    await untilBlocked();
    expect(syncer.log.at(-1)).toBe("terminate 1");
    expect(order).toEqual([]);
    syncer.inProgress.get("1")?.resolve();
    await killing;
    expect(syncer.log.at(-1)).toBe("clean-up 1");
    expect(reasons).toEqual([]);
  });

  test.each([
    { graceSeconds: undefined, waitMs: 45_000 },
    { graceSeconds: 1, waitMs: 10_000 },
  ])("with grace $graceSeconds it may take $waitMs ms", async ({ graceSeconds, waitMs }) => {
    const waited: number[] = [];
    const { workers, reasons } = setUpKill((ms, onTime) => {
      waited.push(ms);
      queueMicrotask(onTime);
      return { stop: () => undefined };
    });
    workers.updatePod({ updateType: "create", pod: staticPod("1") });
    await untilBlocked();
    const { signal } = new AbortController();
    const killing = workers.killPod(staticPod("1"), { graceSeconds }, signal);
    await expect(killing).rejects.toThrow("timeout waiting to kill pod");
    expect(waited).toEqual([waitMs]);
    expect(reasons).toEqual(["ExceededGracePeriod"]);
  });

  test("an aborted wait is not a timeout", async () => {
    const { workers, reasons } = setUpKill(notInTime);
    workers.updatePod({ updateType: "create", pod: staticPod("1") });
    await untilBlocked();
    const controller = new AbortController();
    const killing = workers.killPod(staticPod("1"), {}, controller.signal);
    controller.abort(new Error("stopping"));
    await expect(killing).rejects.toThrow("stopping");
    expect(reasons).toEqual([]);
  });
});
