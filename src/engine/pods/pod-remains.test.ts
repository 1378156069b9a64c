import { expect, test } from "vitest";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { ExecutorWorld } from "../../../test/sim/executor-world.ts";
import {
  observedNothing,
  podLogsRoot,
  podWithVolume,
  rootFolder,
  StageWorld,
} from "../../../test/sim/stage-world.ts";
import { foundMount } from "../../core/storage/volume-state.ts";
import { podUid } from "../../model/ids.ts";
import { emptyObservedPod, type ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { Wakeups } from "../agent/wakeups.ts";
import { forgetPods } from "../loop/housekeeping.ts";
import { ObservedPods } from "../observe/observed-pods.ts";
import { PodRemains } from "./pod-remains.ts";
import { prepareStages } from "./pod-stage.ts";

const uidA = podUid("uid-a");
const emptyDir = "kubernetes.io/empty-dir";

const sandbox = {
  id: "sandbox",
  state: "ready",
  attempt: 0,
  createdAtMs: 0,
  network: "pod",
} as const;

/** The removal of pods on a machine in memory whose runtime shows what `observed` holds. */
class World extends StageWorld {
  readonly observed: ObservedPods;
  readonly executor: ExecutorWorld = new ExecutorWorld();
  readonly remains: PodRemains;
  /** What the next reads find. */
  sandboxes: ObservedPod["sandboxes"] = [];
  housekeepingRequests = 0;

  constructor() {
    super();
    const { clock, log, executor, table, stages, changes, memory } = this;
    const wakeups = new Wakeups();
    const nothing = (): undefined => undefined;
    wakeups.connect({
      loop: {
        requestSync: nothing,
        wake: nothing,
        resume: nothing,
        requestHousekeeping: () => {
          this.housekeepingRequests += 1;
        },
        askToStart: nothing,
      },
      reader: {
        requestRead: (uid) => this.show(uid, this.sandboxes),
        readWhenQuiet: nothing,
      },
      allocations: { noteEnded: nothing },
      nodeAgent: undefined,
      storage: { requestLook: nothing, retryPod: nothing, retryDriver: nothing },
      cpuReconciler: { requestLook: nothing },
      csiAllocatable: undefined,
    });
    this.observed = new ObservedPods(table, wakeups);
    this.remains = new PodRemains({
      ports: { clock, log, metrics: noMetrics },
      executor: executor.deps,
      table,
      stages,
      changes,
      memory,
      observed: this.observed,
      wakeups,
      lifetime: this.lifetime.signal,
    });
  }

  /** The pod was wanted and has been prepared; its status is on disk. */
  async prepare(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    this.registry.set(pod);
    await prepareStages(this.stages, { pod, observed: observedNothing(pod) }, this.signal);
    await this.files.writeFile(`${podLogsRoot}/default_web_${uid}/main/0.log`, "");
    this.memory.checkpoints.save(uid, { phase: "Running" });
    await this.memory.checkpoints.flush();
  }

  /** One round, and the end of all removals that it has begun. */
  async round(kept: readonly string[] = []): Promise<void> {
    await this.remains.removeAllBut(new Set(kept.map(podUid)));
    for (const { uid } of this.table.all()) await this.removed(uid);
  }

  /** The removal that is in progress has ended. */
  async removed(uid: string): Promise<void> {
    const removal = this.table.get(podUid(uid))?.removal;
    if (removal?.state === "running") await removal.ended;
  }

  /** The runtime has these sandboxes of the pod. */
  show(uid: string, sandboxes: ObservedPod["sandboxes"]): void {
    const observed = { ...emptyObservedPod(podUid(uid), "web", "default"), sandboxes };
    this.observed.set(podUid(uid), observed, this.clock.monotonicMs());
  }

  /** UIDs of the pods that were forgotten. */
  forget(): readonly string[] {
    const { table } = this;
    const before = [...table.all()].map(({ uid }) => uid);
    forgetPods(table);
    return before.filter((uid) => table.get(uid) === undefined);
  }

  get signal(): AbortSignal {
    return this.lifetime.signal;
  }
}

/** No source wants the pod any more. `seen`: what those who watch see from then on. */
async function watchedRemoval() {
  const world = await new World().start();
  const pod = podWithVolume("uid-a");
  await world.prepare(pod);
  world.registry.remove(pod);
  world.changes.noteRemoved(pod);
  const seen: string[] = [];
  world.changes.watch(({ type, pod: { metadata, status } }) => {
    seen.push(`${type} ${metadata.uid} ${status?.phase}`);
  }, world.signal);
  return { world, pod, seen };
}

test("everything of a pod that no source wants goes, and then the pod is forgotten", async () => {
  const world = await new World().start();
  const pod = podWithVolume("uid-a");
  await world.prepare(pod);
  await world.round(["uid-a"]);
  expect(world.forget()).toEqual([]);
  expect(await world.whatIsOnDisk("uid-a")).toHaveLength(5);
  world.registry.remove(pod);
  await world.round();
  expect(await world.whatIsOnDisk("uid-a")).toEqual([]);
  expect(world.forget()).toEqual(["uid-a"]);
  expect([...world.table.all()]).toEqual([]);
});

test("a removal that is under way is not started again, however many rounds come meanwhile", async () => {
  const world = await new World().start();
  const pods = Array.from({ length: 50 }, (_, index) => podWithVolume(`pod-${index}`));
  for (const pod of pods) {
    await world.prepare(pod);
    world.registry.remove(pod);
  }
  world.calls.splice(0);
  let listed = 0;
  const list = world.files.list.bind(world.files);
  world.files.list = (path) => {
    if (path === podLogsRoot) listed++;
    return list(path);
  };
  for (let round = 0; round < 100; round++) await world.remains.removeAllBut(new Set());
  await world.round();
  const removed = world.calls.filter((call) => call === `rm ${rootFolder}/pods/pod-0`);
  expect(removed).toHaveLength(1);
  expect(world.forget()).toHaveLength(50);
  // Log folders of known pods are found by their names; one list looks for those of others.
  expect(listed).toBe(1);
});

test("a pod of a past agent is removed by what is found of it, volumes first", async () => {
  const world = await new World().start();
  const volume = `${rootFolder}/pods/old/volumes/kubernetes.io~empty-dir/cache`;
  await world.files.writeFile(`${volume}/data`, "");
  await world.mounts.mountTmpfs(volume);
  await world.files.writeFile(`${podLogsRoot}/ns_name_old/main/0.log`, "");
  await world.cgroups.create("/kubepods/burstable/podold", {});
  await world.round();
  expect(await world.whatIsOnDisk("old")).toEqual([]);
  expect(world.warnings).toEqual([]);
  expect(world.forget()).toEqual(["old"]);
});

test("what cannot be removed keeps the pod and its checkpoint, and is tried again later", async () => {
  const world = await new World().start();
  const pod = podWithVolume("uid-a");
  await world.prepare(pod);
  world.registry.remove(pod);
  world.stuck.add(`${rootFolder}/pods/uid-a`);
  await world.round();
  expect(world.warnings).toEqual(["cannot remove what a pod left, trying again"]);
  const error = `cannot remove the pod's folders: ${rootFolder}/pods/uid-a: input/output error`;
  expect(world.memory.recorder.last(uidA)).toMatchObject({ kind: "removing", error });
  expect(world.table.get(uidA)?.removal).toMatchObject({ state: "due", error });
  expect(world.forget()).toEqual([]);
  expect(await world.whatIsOnDisk("uid-a")).toContain("statuses/uid-a.json");
  world.stuck.clear();
  await world.round();
  expect(await world.whatIsOnDisk("uid-a")).toContain("statuses/uid-a.json");
  await world.clock.advance(2_000);
  await world.round();
  expect(await world.whatIsOnDisk("uid-a")).toEqual([]);
  expect(world.forget()).toEqual(["uid-a"]);
});

test("what goes on failing is tried less and less often, and logged once", async () => {
  const world = await new World().start();
  const pod = podWithVolume("uid-a");
  await world.prepare(pod);
  world.registry.remove(pod);
  world.stuck.add(`${rootFolder}/pods/uid-a`);
  const delays: (number | undefined)[] = [];
  for (let round = 0; round < 5; round += 1) {
    await world.round();
    const removal = world.table.get(uidA)?.removal;
    delays.push(removal?.state === "due" ? removal.delayMs : undefined);
    await world.clock.advance(16_000);
  }
  expect(delays).toEqual([2_000, 4_000, 8_000, 16_000, 16_000]);
  expect(world.warnings).toEqual(["cannot remove what a pod left, trying again"]);
});

test("a pod that comes back during its removal is remembered, and is removed again when it goes again", async () => {
  const world = await new World().start();
  const pod = podWithVolume("uid-a");
  await world.prepare(pod);
  world.registry.remove(pod);
  await world.remains.removeAllBut(new Set());
  world.registry.set(pod);
  await world.removed("uid-a");
  expect(await world.whatIsOnDisk("uid-a")).toEqual(["statuses/uid-a.json"]);
  await world.round(["uid-a"]);
  expect(world.table.get(uidA)?.removal).toBeUndefined();
  await world.prepare(pod);
  world.registry.remove(pod);
  await world.round();
  expect(await world.whatIsOnDisk("uid-a")).toEqual([]);
});

test("a pod that comes back during its removal and goes again is removed again", async () => {
  const { world, pod, seen } = await watchedRemoval();
  await world.remains.removeAllBut(new Set());
  world.registry.set(pod);
  world.changes.noteAdded(pod);
  world.memory.checkpoints.save(uidA, { phase: "Failed" });
  world.registry.remove(pod);
  world.changes.noteRemoved(pod);
  await world.removed("uid-a");
  await world.memory.checkpoints.flush();
  expect(world.table.get(uidA)?.removal).toMatchObject({ state: "due" });
  expect(await world.whatIsOnDisk("uid-a")).toEqual(["statuses/uid-a.json"]);
  await world.round();
  expect(seen.at(-1)).toBe("DELETED uid-a Failed");
  expect(await world.whatIsOnDisk("uid-a")).toEqual([]);
  expect(world.forget()).toEqual(["uid-a"]);
});

test("what comes late, after everything was removed, is removed too", async () => {
  const world = await new World().start();
  const pod = podWithVolume("uid-a");
  await world.prepare(pod);
  world.registry.remove(pod);
  await world.round();
  world.memory.checkpoints.save(uidA, { phase: "Failed" });
  await world.memory.checkpoints.flush();
  expect(world.forget()).toEqual([]);
  await world.round();
  expect(await world.whatIsOnDisk("uid-a")).toEqual([]);
  // A sandbox of a call that timed out.
  world.show("uid-a", [sandbox]);
  expect(world.forget()).toEqual([]);
  await world.round();
  expect(world.observed.has(uidA)).toBe(false);
  expect(world.forget()).toEqual(["uid-a"]);
});

test("a volume that is found mounted after everything was removed is unmounted before the pod is forgotten", async () => {
  const world = await new World().start();
  const pod = podWithVolume("uid-a");
  await world.prepare(pod);
  world.registry.remove(pod);
  await world.round();
  const spec = { source: "inline", volume: { name: "late", emptyDir: {} } } as const;
  world.volumes.setMount(uidA, "of a call that a past agent made", foundMount(spec, emptyDir));
  expect(world.forget()).toEqual([]);
  await world.round();
  expect(world.volumes.hasMounts(uidA)).toBe(false);
  expect(world.forget()).toEqual(["uid-a"]);
});

test("a pod of which the runtime has another sandbox is removed again, and remembered until then", async () => {
  const world = await new World().start();
  world.show("uid-a", [sandbox]);
  world.sandboxes = [{ ...sandbox, id: "of a late call" }];
  await world.round();
  expect(world.table.get(uidA)?.removal).toMatchObject({
    state: "due",
    error: "the runtime has another sandbox of the pod",
  });
  expect(world.forget()).toEqual([]);
  world.sandboxes = [];
  await world.clock.advance(2_000);
  await world.round();
  expect(world.forget()).toEqual(["uid-a"]);
});

test("watches see that a pod is gone, with its last status, when everything of it was removed", async () => {
  const { world, seen } = await watchedRemoval();
  world.stuck.add(`${rootFolder}/pods/uid-a`);
  await world.round();
  expect(seen).toEqual([]);
  world.stuck.clear();
  await world.clock.advance(2_000);
  await world.round();
  expect(seen).toEqual(["DELETED uid-a Running"]);
});

test("housekeeping is asked for when a removal has succeeded, not when one has failed", async () => {
  const world = await new World().start();
  const pod = podWithVolume("uid-a");
  await world.prepare(pod);
  world.registry.remove(pod);
  world.stuck.add(`${rootFolder}/pods/uid-a`);
  await world.round();
  expect(world.housekeepingRequests).toBe(0);
  world.stuck.clear();
  await world.clock.advance(2_000);
  await world.round();
  expect(world.housekeepingRequests).toBe(1);
});

test.each(["", ".", "..", "../../etc"])(
  "a sandbox labelled %j does not remove a folder",
  async (uid) => {
    const world = await new World().start();
    await world.prepare(podWithVolume("uid-a"));
    world.show(uid, [sandbox]);
    await world.round(["uid-a"]);
    expect(world.calls.filter((call) => call.startsWith("rm"))).toEqual([]);
  },
);
