import { expect, test } from "vitest";
import { runningPod } from "../../../test/kit/pods.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { SimHistory } from "../../drivers/sim/sim-history.ts";
import type { Event, PodStatus } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import type { PodChange } from "../../ports/agent-view.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable } from "../pods/pod-table.ts";
import { NodeHistory } from "./node-history.ts";

const { signal } = new AbortController();

/** A node whose pods change as a test says. */
class World {
  readonly clock = new VirtualClock(1_000);
  readonly table = new PodTable();
  readonly registry = new PodRegistry(this.table);
  readonly history: NodeHistory;
  readonly store: SimHistory;
  #onChange: (change: PodChange) => void = () => undefined;

  constructor(store = new SimHistory()) {
    const { table, clock } = this;
    this.store = store;
    this.history = new NodeHistory({ table, clock, historyStore: store });
    this.history.follow({ watch: (onChange) => void (this.#onChange = onChange) }, signal);
  }

  show(name: string, status: PodStatus, type: PodChange["type"] = "MODIFIED"): void {
    const pod = { ...runningPod(name), status };
    if (type !== "DELETED") this.registry.set(pod);
    this.#onChange({ type, pod });
  }

  forget(name: string): void {
    const uid = podUid(`uid-${name}`);
    this.history.noteGone(uid);
    this.table.delete(uid);
  }

  async kinds(): Promise<readonly string[]> {
    const { items } = await this.store.entries({});
    return items.toReversed().map(({ kind }) => kind);
  }
}

const waiting = (message: string): PodStatus => ({
  phase: "Pending",
  containerStatuses: [
    {
      name: "main",
      image: "",
      imageID: "",
      ready: false,
      restartCount: 0,
      state: { waiting: { reason: "ContainerCreating", message } },
    },
  ],
});

test("a pod is noted when something changed that others see, and when it is gone", async () => {
  const world = new World();
  world.show("web", { phase: "Pending" }, "ADDED");
  await world.clock.advance(1_000);
  world.show("web", { phase: "Pending" });
  world.show("web", { phase: "Running", podIP: "10.0.0.1" });
  world.show("web", { phase: "Running", podIP: "10.0.0.1" }, "DELETED");
  world.forget("web");
  expect(await world.kinds()).toEqual(["status", "status", "gone"]);
  const { items } = await world.history.pods(signal);
  expect(items).toMatchObject([
    {
      name: "web",
      namespace: "default",
      firstSeenMs: 1_000,
      goneMs: 2_000,
      last: { ip: "10.0.0.1" },
    },
  ]);
});

test("the progress of a pull is not a change", async () => {
  const world = new World();
  const pulling = 'Pulling image "a/b:1" since 2026-01-01T00:00:00Z';
  world.show("web", waiting(pulling));
  world.show("web", waiting(`${pulling}, 1.0 of 9.0 MB (11%)`));
  world.show("web", waiting(`${pulling}, 8.0 of 9.0 MB (88%)`));
  expect(await world.kinds()).toEqual(["status"]);
});

test("a status has what the runs of containers are drawn from", async () => {
  const world = new World();
  const ended = {
    exitCode: 3,
    reason: "Error",
    message: "x".repeat(5_000),
    startedAt: "1970-01-01T00:00:01Z",
    finishedAt: "1970-01-01T00:00:02Z",
  };
  const main = { name: "main", image: "", imageID: "", ready: false, restartCount: 4 };
  world.show("web", {
    phase: "Running",
    conditions: [
      { type: "PodScheduled", status: "True" },
      { type: "Ready", status: "False", reason: "ContainersNotReady" },
    ],
    containerStatuses: [
      {
        ...main,
        state: { waiting: { reason: "CrashLoopBackOff" } },
        lastState: { terminated: ended },
      },
    ],
  });
  const { items } = await world.history.entries({ kinds: ["status"] }, signal);
  const run = { is: "terminated", exitCode: 3, startedMs: 1_000, finishedMs: 2_000 };
  expect(items).toMatchObject([
    {
      status: "CrashLoopBackOff",
      restarts: 4,
      conditions: [{ type: "Ready", status: "False", reason: "ContainersNotReady" }],
      containers: [{ restarts: 4, state: { reason: "CrashLoopBackOff" }, last: run }],
    },
  ]);
  expect(JSON.stringify(items).length).toBeLessThan(2_500);
});

test("an event that comes again and again is noted less and less often", async () => {
  const world = new World();
  const event: Event = {
    metadata: {},
    involvedObject: { uid: "uid-web", namespace: "default", name: "web" },
    reason: "BackOff",
    message: "again",
  };
  for (let count = 1; count <= 100; count++) world.history.noteEvent({ ...event, count });
  const { items } = await world.history.entries({}, signal);
  const counts = items.map((entry) => (entry.kind === "event" ? entry.count : 0));
  expect(counts).toEqual([64, 32, 16, 8, 4, 3, 2, 1]);
});

test("pods that went while no agent ran are gone for the next one", async () => {
  const before = new World();
  before.show("web", { phase: "Running" });
  before.show("db", { phase: "Running" });
  const after = new World(before.store);
  await after.clock.advance(60_000);
  after.show("web", { phase: "Running" }, "ADDED");
  await after.history.noteVanished(signal);
  expect((await after.history.at(61_000, signal)).pods).toMatchObject([{ pod: "default/web" }]);
  expect((await after.history.at(1_000, signal)).pods).toHaveLength(2);
});

test("a time at which no agent ran, or of which nothing is kept, is unknown", async () => {
  const { history, clock } = new World();
  const isKnown = async (timeMs: number) => (await history.at(timeMs, signal)).isKnown;
  history.noteAgent("started", "1");
  history.noteSample({ pods: 0, pressures: [] });
  await clock.advance(60_000);
  expect(await isKnown(999)).toBe(false);
  expect(await isKnown(61_000)).toBe(true);
  history.noteAgent("stopped", "1");
  await clock.advance(1_000);
  expect(await isKnown(60_999)).toBe(true);
  expect(await isKnown(61_500)).toBe(false);
  expect(await isKnown(10_000_000)).toBe(false);
  expect((await history.at(61_000, signal)).node).toMatchObject({ pods: 0 });
  expect((await history.at(10_000_000, signal)).node).toBeUndefined();
});
