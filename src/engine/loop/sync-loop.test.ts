import { expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { Faults } from "../agent/faults.ts";
import { PodUpdates } from "../intake/pod-updates.ts";
import { SourceReadiness } from "../intake/source-readiness.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable, type PodWorker } from "../pods/pod-table.ts";
import { WorkerStates } from "../pods/worker-states.ts";
import { SyncLoop } from "./sync-loop.ts";
import { WorkQueue } from "./work-queue.ts";

function podOf(uid: string, generation = 0, creationTimestamp?: string): Pod {
  const metadata = { name: uid, namespace: "ns", uid, generation, creationTimestamp };
  return buildPod({ metadata });
}

function workerOf(pod: Pod): PodWorker {
  return {
    uid: pod.metadata.uid,
    state: { state: "syncing", fullName: `${pod.metadata.name}_ns`, active: { pod } },
    arrival: 1,
    waitsFor: undefined,
    lastActedAtMs: 0,
    abort: undefined,
    running: undefined,
  };
}

const quiet = (): undefined => undefined;

/** The loop around workers that only note what they are given. */
class World {
  readonly clock = new VirtualClock();
  readonly table = new PodTable();
  readonly registry = new PodRegistry(this.table);
  readonly sources = new SourceReadiness(["file"]);
  readonly workers = this.table.writer("worker");
  readonly health: { problem: string | undefined } = { problem: undefined };
  readonly observed = { isListed: true };
  readonly notes: string[] = [];
  readonly warnings: string[] = [];
  readonly stop = new AbortController();
  refused: ReadonlySet<string> = new Set();
  housekeeping = (): Promise<void> => Promise.resolve();
  readonly loop: SyncLoop;
  readonly #running: Promise<void>;

  constructor(problem?: string, faults: Pick<Faults, "note"> = loudFaults) {
    this.health.problem = problem;
    this.loop = new SyncLoop({
      updates: this.#updates(),
      workers: { askToStart: () => void this.notes.push("ask") },
      housekeeping: {
        run: () => {
          this.notes.push("housekeep");
          return this.housekeeping();
        },
      },
      queue: new WorkQueue({
        clock: this.clock,
        random: () => 0,
        table: this.table,
        wakeups: { lookAtQueue: () => this.loop.wake() },
      }),
      health: this.health,
      observed: this.observed,
      clock: this.clock,
      log: { ...silentLog, warn: (message) => void this.warnings.push(message) },
      faults,
    });
    this.#running = this.loop.run(this.stop.signal);
  }

  #updates(): PodUpdates {
    return new PodUpdates({
      registry: this.registry,
      sources: this.sources,
      admission: { admit: ({ metadata }) => !this.refused.has(metadata.uid) },
      allocations: { noteAdded: quiet, noteUpdated: quiet, noteStatus: quiet, noteRemoved: quiet },
      workers: {
        updatePod: ({ updateType, pod }) => {
          if (pod === undefined) return;
          const { uid, generation } = pod.metadata;
          if (generation === poisoned) throw new Error("poisoned");
          this.notes.push(`${updateType} ${uid}`);
          this.workers.set(uid, this.workers.get(uid) ?? workerOf(pod));
        },
      },
      states: new WorkerStates(this.table),
      starts: { noteNewPod: quiet },
      changes: { noteAdded: quiet, noteUpdated: quiet, noteRemoved: quiet },
      cluster: undefined,
      clock: this.clock,
    });
  }

  deliver(op: "ADD" | "UPDATE" | "REMOVE", ...pods: readonly Pod[]): void {
    this.loop.deliver({ op, source: "file", pods });
  }

  /** What was noted while that time passed. */
  async after(ms: number): Promise<readonly string[]> {
    this.notes.length = 0;
    await this.clock.advance(ms);
    return [...this.notes];
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.clock.advance(1);
    await this.#running;
  }
}

/** A pod of this generation makes its worker throw. */
const poisoned = 666;

test("updates that come while the runtime is away become few, and the newest counts", async () => {
  const world = new World("away");
  world.deliver("ADD", podOf("a"));
  for (let index = 1; index <= 50_000; index += 1) world.deliver("UPDATE", podOf("a", index));
  world.health.problem = undefined;
  const notes = await world.after(10_000);
  expect(world.registry.get(podUid("a"))?.metadata.generation).toBe(50_000);
  expect(notes.filter((note) => note.endsWith(" a")).length).toBeLessThanOrEqual(1_001);
  await world.end();
});

test("pods go to their workers in the order of their age, but those that are refused", async () => {
  const world = new World();
  world.refused = new Set(["refused"]);
  const old = podOf("old", 0, "2026-01-01T00:00:00Z");
  world.deliver("ADD", podOf("refused"), podOf("young", 0, "2026-02-01T00:00:00Z"), old);
  expect(await world.after(1)).toEqual(["create old", "create young"]);
  expect(world.sources.areAllReady).toBe(true);
  world.deliver("REMOVE", old);
  expect(await world.after(1)).toEqual(["kill old"]);
  expect(world.registry.get(podUid("old"))).toBeUndefined();
  await world.end();
});

test("a pod that is due gets a sync, unless it has no worker or waits to start", async () => {
  const world = new World();
  world.refused = new Set(["refused"]);
  world.deliver("ADD", podOf("runs"), podOf("waits"), podOf("refused"));
  await world.after(1);
  const worker = workerOf(podOf("waits"));
  world.workers.set(podUid("waits"), { ...worker, waitsFor: { kind: "removal" } });
  for (const uid of ["runs", "waits", "refused", "unknown"]) world.loop.requestSync(podUid(uid));
  expect(await world.after(1)).toEqual(["sync runs"]);
  await world.end();
});

test("pods that wait are asked when something changed, and at every round of housekeeping", async () => {
  const world = new World();
  await world.after(1);
  expect(await world.after(1_500)).toEqual([]);
  world.loop.askToStart();
  expect(await world.after(1)).toEqual(["ask"]);
  expect(await world.after(600)).toEqual(["ask", "housekeep"]);
  world.loop.requestHousekeeping();
  expect(await world.after(1)).toEqual(["ask", "housekeep"]);
  await world.end();
});

test("however often housekeeping is requested, a round does not follow the last one at once", async () => {
  const world = new World();
  await world.after(500);
  world.loop.requestHousekeeping();
  expect(await world.after(1)).toEqual(["ask", "housekeep"]);
  world.notes.length = 0;
  for (let ms = 0; ms < 1_000; ms += 1) {
    world.loop.requestHousekeeping();
    await world.clock.advance(1);
  }
  expect(world.notes.filter((note) => note === "housekeep")).toHaveLength(10);
  await world.end();
});

test("housekeeping that fails is tried again", async () => {
  const world = new World();
  world.housekeeping = () => Promise.reject(new Error("no space left"));
  expect(await world.after(4_001)).toEqual(["ask", "housekeep", "ask", "housekeep"]);
  await world.end();
});

test("a pod that cannot be handled costs no other pod anything, and is tried again", async () => {
  const faults: string[] = [];
  const note = (_error: unknown, during: string, uid?: string): void =>
    void faults.push(`${during} ${uid}`);
  const world = new World(undefined, { note });
  world.workers.set(podUid("bad"), workerOf(podOf("bad")));
  world.deliver("UPDATE", podOf("bad", poisoned), podOf("good"));
  expect(await world.after(1)).toContain("update good");
  expect(faults).toEqual(["intake bad"]);
  await world.after(10_000);
  expect(faults).toEqual(["intake bad", "dispatch bad"]);
  await world.end();
});

test("a runtime that is not there at once is warned of only when it takes long", async () => {
  const world = new World("away");
  await world.after(5_000);
  expect(world.warnings).toEqual([]);
  await world.after(5_000);
  expect(world.warnings).toEqual(["waiting for the container runtime"]);
  world.health.problem = undefined;
  world.loop.resume();
  await world.after(1);
  world.health.problem = "away again";
  await world.after(5_000);
  expect(world.warnings).toHaveLength(1);
  await world.end();
});

test("nothing is done before it is known what the runtime has, though it is healthy", async () => {
  const world = new World("away");
  world.observed.isListed = false;
  world.deliver("ADD", podOf("a"));
  world.health.problem = undefined;
  expect(await world.after(60_000)).toEqual([]);
  world.observed.isListed = true;
  world.loop.resume();
  expect(await world.after(1)).toEqual(["create a", "ask", "housekeep"]);
  await world.end();
});

test("nothing is done while the runtime is away; when it is back, at once", async () => {
  const world = new World("away");
  world.deliver("ADD", podOf("a"));
  expect(await world.after(60_000)).toEqual([]);
  world.health.problem = undefined;
  world.loop.resume();
  expect(await world.after(1)).toEqual(["create a", "ask", "housekeep"]);
  await world.end();
});
