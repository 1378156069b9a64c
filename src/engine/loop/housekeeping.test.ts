import { expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { foundMount } from "../../core/storage/volume-state.ts";
import type { PodUpdate } from "../../core/worker/pod-update.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import { emptyObservedPod, type ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { configSourceAnnotation } from "../../model/pod-source.ts";
import { SourceReadiness } from "../intake/source-readiness.ts";
import { ObservedPods } from "../observe/observed-pods.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable, type PodWorker } from "../pods/pod-table.ts";
import { VolumeStates } from "../volumes/volume-states.ts";
import { forgetPods, Housekeeping } from "./housekeeping.ts";
import { NextLives } from "./next-lives.ts";

function podOf(uid: string, source: "file" | "api" = "file"): Pod {
  const annotations = { [configSourceAnnotation]: source };
  const metadata = { name: "web", namespace: "ns", uid, annotations };
  return buildPod({ metadata, status: { phase: "Running" } });
}

function workerOf(pod: Pod, of: Partial<PodWorker> = {}): PodWorker {
  return {
    uid: pod.metadata.uid,
    state: { state: "wait-to-start", fullName: "web_ns", pending: { updateType: "create", pod } },
    arrival: 1,
    waitsFor: undefined,
    lastActedAtMs: 0,
    abort: undefined,
    running: undefined,
    ...of,
  };
}

function observed(uid: string, state: "ready" | "notReady" = "ready"): ObservedPod {
  const sandbox = { id: uid, state, attempt: 0, createdAtMs: 0, network: "pod" } as const;
  return { ...emptyObservedPod(podUid(uid), "web", "ns"), sandboxes: [sandbox] };
}

/** Housekeeping around workers that only note what they are given. */
class World {
  readonly table = new PodTable();
  readonly registry = new PodRegistry(this.table);
  readonly workers = this.table.writer("worker");
  readonly sources = new SourceReadiness(["file", "api"]);
  readonly observed = new ObservedPods(this.table, { read: () => undefined });
  readonly notes: string[] = [];
  /** What was to be written again if it could not be before. */
  readonly written: string[] = [];
  inactive: ReadonlySet<string> = new Set();
  refused: ReadonlySet<string> = new Set();
  /** Workers that are forgotten in this round. */
  over: readonly string[] = [];

  readonly #parts = {
    table: this.table,
    registry: this.registry,
    sources: this.sources,
    workers: {
      syncKnownPods: (desired: ReadonlySet<PodUid>) => {
        this.notes.push(`wanted: ${[...desired].join(" ")}`);
        for (const uid of this.over) this.workers.set(podUid(uid), undefined);
      },
      updatePod: ({ updateType, pod, runningPod, kill }: PodUpdate) => {
        if (pod !== undefined) {
          const { metadata, status } = pod;
          this.notes.push(`${updateType} ${metadata.uid} (${status?.phase})`);
          this.workers.set(metadata.uid, workerOf(pod));
        } else {
          this.notes.push(`${updateType} ${runningPod.uid} within ${kill?.graceSeconds} s`);
          this.workers.set(runningPod.uid, workerOf(podOf(runningPod.uid)));
        }
      },
    },
    admission: { admit: ({ metadata }: Pod) => !this.refused.has(metadata.uid) },
    active: { has: (uid: PodUid) => !this.inactive.has(uid) },
    statuses: {
      endLife: (uid: PodUid) => void this.notes.push(`forget the status of ${uid}`),
      writeAgain: () => void this.written.push("statuses"),
    },
    remains: {
      removeAllBut: (kept: ReadonlySet<PodUid>) => {
        this.notes.push(`keep: ${[...kept].join(" ")}`);
        return Promise.resolve();
      },
    },
    faults: loudFaults,
    metrics: {
      increment: (name: string, labels: object = {}) =>
        void this.notes.push(`${name} ${JSON.stringify(labels)}`),
    },
    allocations: {
      writeAgain: () => {
        this.written.push("allocations");
        return Promise.resolve();
      },
    },
    cluster: undefined,
  };

  readonly #housekeeping = new Housekeeping({
    ...this.#parts,
    nextLives: new NextLives(this.#parts),
  });

  ready(): this {
    for (const source of ["file", "api"]) this.sources.noteHandled(source);
    return this;
  }

  async round(): Promise<readonly string[]> {
    this.notes.length = 0;
    await this.#housekeeping.run();
    return [...this.notes];
  }
}

test("nothing is cleaned up before all sources are ready", async () => {
  const world = new World();
  world.sources.noteHandled("file");
  world.registry.set(podOf("wanted"));
  world.observed.set(podUid("orphan"), observed("orphan"), 1);
  expect(await world.round()).toEqual([]);
});

test("what could not be written is tried again in every round, of statuses once all sources are ready", async () => {
  const world = new World();
  await world.round();
  expect(world.written).toEqual(["allocations"]);
  await world.ready().round();
  expect(world.written).toEqual(["allocations", "allocations", "statuses"]);
});

const inTheWay = { kind: "name", uid: podUid("old"), other: "runs" } as const;

test.each([
  { source: "file", ends: true },
  { source: "api", ends: false },
] as const)(
  "what runs in the place of a pod of source $source ends before all sources are ready: $ends",
  async ({ source, ends }) => {
    const world = new World();
    const pod = podOf("new", source);
    world.registry.set(pod);
    world.workers.set(podUid("new"), workerOf(pod, { waitsFor: inTheWay }));
    world.observed.set(podUid("old"), observed("old"), 1);
    world.observed.set(podUid("orphan"), observed("orphan"), 1);
    const kill = ["kill old within 1 s", "kubelet_orphaned_runtime_pods_total {}"];
    expect(await world.round()).toEqual(ends ? kill : []);
    // Its worker knows.
    expect(await world.round()).toEqual([]);
  },
);

test("a pod that no source wants is ended once, and only if it runs", async () => {
  const world = new World().ready();
  world.observed.set(podUid("orphan"), observed("orphan"), 1);
  world.observed.set(podUid("stopped"), observed("stopped", "notReady"), 1);
  expect(await world.round()).toEqual([
    "wanted: ",
    "kill orphan within 1 s",
    "kubelet_orphaned_runtime_pods_total {}",
    "forget the status of stopped",
    "keep: orphan",
  ]);
  expect(await world.round()).toEqual(["wanted: ", "forget the status of stopped", "keep: orphan"]);
});

test("everything is kept of pods that are wanted, have a worker or cannot be read", async () => {
  const world = new World().ready();
  world.inactive = new Set(["wanted"]);
  world.registry.set(podOf("wanted"));
  world.workers.set(podUid("ending"), workerOf(podOf("ending")));
  const sandboxes = [{ id: "s" }];
  const pods = new Map([[podUid("unread"), { sandboxes, containers: [], listedAtMs: 1 }]]);
  world.observed.beginListing({ pods, podOfId: new Map(), keys: new Map() }, 1);
  expect(await world.round()).toEqual(["wanted: wanted", "keep: wanted ending unread"]);
});

test("a static pod that came back begins its next life without the status of the last", async () => {
  const world = new World().ready();
  const pod = podOf("again");
  world.registry.set(pod);
  world.workers.set(podUid("again"), workerOf(pod));
  world.over = ["again"];
  expect(await world.round()).toEqual([
    "wanted: again",
    "forget the status of again",
    "create again (undefined)",
    'kubelet_restarted_pods_total {"static":"true"}',
    "keep: again",
  ]);
});

test("a wanted pod without a worker gets one, unless it has ended, is refused or is being removed", async () => {
  const world = new World().ready();
  for (const uid of ["lost", "ended", "refused", "removed"]) world.registry.set(podOf(uid, "api"));
  world.inactive = new Set(["ended"]);
  world.refused = new Set(["refused"]);
  const ended = Promise.resolve();
  world.table.writer("removal").set(podUid("removed"), { state: "running", ended });
  const notes = await world.round();
  expect(notes.slice(1, -1)).toEqual([
    "create lost (Running)",
    'kubelet_restarted_pods_total {"static":""}',
  ]);
});

test.each([
  { removal: { state: "running", ended: Promise.resolve() }, ends: false },
  { removal: { state: "done" }, ends: false },
  { removal: { state: "due", atMs: 0 }, ends: true },
] as const)(
  "the life of a pod whose removal is $removal.state is ended in that round: $ends",
  async ({ removal, ends }) => {
    const world = new World().ready();
    world.observed.set(podUid("gone"), observed("gone", "notReady"), 1);
    world.table.writer("removal").set(podUid("gone"), removal);
    const notes = await world.round();
    expect(notes.includes("forget the status of gone")).toBe(ends);
  },
);

/** Pods whose removal is done. */
function removedPods(...uids: readonly string[]): PodTable {
  const table = new PodTable();
  const removals = table.writer("removal");
  for (const uid of uids) removals.set(podUid(uid), { state: "done" });
  return table;
}

function uidsOf(table: PodTable): readonly string[] {
  return [...table.all()].map(({ uid }) => uid);
}

test("pods of which nothing is left are forgotten, the others stay", () => {
  const left = ["wanted", "being-read", "being-reported", "in-runtime", "has-files", "mounted"];
  const table = removedPods("gone", ...left, "also-gone");
  new PodRegistry(table).set(buildPod({ metadata: { uid: "wanted" } }));
  const running = { again: false, done: Promise.resolve() };
  table.writer("reading").set(podUid("being-read"), { running });
  table.writer("report").set(podUid("being-reported"), {
    wanted: undefined,
    pending: undefined,
    isSending: true,
    answer: undefined,
    isDeleted: false,
  });
  table.writer("ephemeral").set(podUid("has-files"), [{ name: "debug" }]);
  table.writer("observed").set(podUid("in-runtime"), { state: observed("in-runtime") });
  const spec = { source: "inline", volume: { name: "data" } } as const;
  new VolumeStates(table).setMount(podUid("mounted"), "data", foundMount(spec, "plugin"));
  forgetPods(table);
  expect(uidsOf(table)).toEqual(left);
});

test("records of syncs and decisions go with the pod", () => {
  const table = removedPods("uid-a");
  table.writer("records").set(podUid("uid-a"), { syncs: [], decisions: [] });
  forgetPods(table);
  expect(uidsOf(table)).toEqual([]);
});

test("a pod is not forgotten before its removal has begun", () => {
  const table = new PodTable();
  table.writer("events").set(podUid("uid-a"), []);
  forgetPods(table);
  expect(uidsOf(table)).toEqual(["uid-a"]);
});
