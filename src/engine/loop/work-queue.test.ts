import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { Requeue } from "../../core/worker/requeue.ts";
import { podUid } from "../../model/ids.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable } from "../pods/pod-table.ts";
import { WorkQueue } from "./work-queue.ts";

const uidA = podUid("a");

function setUp() {
  let nowMs = 0;
  const clock = {
    nowMs: () => 0,
    monotonicMs: () => nowMs,
    startTimer: () => ({ stop: () => undefined }),
    sleep: () => Promise.resolve(),
  };
  const table = new PodTable();
  const wakeups = { lookAtQueue: () => undefined };
  const queue = new WorkQueue({ clock, random: () => 0, table, wakeups });
  return {
    queue,
    table,
    setTime: (ms: number) => {
      nowMs = ms;
    },
  };
}

test("each pod comes due once, at the time it was last put off to", () => {
  const { queue, setTime } = setUp();
  queue.enqueue(uidA, 100);
  queue.enqueue(podUid("b"), 0);
  queue.enqueue(uidA, 200);
  expect(queue.takeDue()).toEqual(["b"]);
  setTime(100);
  expect(queue.takeDue()).toEqual([]);
  setTime(200);
  expect(queue.takeDue()).toEqual(["a"]);
  expect(queue.takeDue()).toEqual([]);
});

test("a pod that is requested is due at once, and at its time again", () => {
  const { queue, setTime } = setUp();
  queue.enqueue(uidA, 100);
  queue.request(uidA);
  queue.enqueue(uidA, 200);
  expect(queue.nextDueInMs()).toBe(0);
  expect(queue.takeDue()).toEqual(["a"]);
  // When it is woken for the time that was put off, it finds out the next.
  setTime(100);
  expect(queue.takeDue()).toEqual([]);
  expect(queue.nextDueInMs()).toBe(100);
  setTime(200);
  expect(queue.takeDue()).toEqual(["a"]);
  expect(queue.nextDueInMs()).toBeUndefined();
});

test("a pod that was forgotten after it was requested is not taken, and is once when it is requested again", () => {
  const { queue, table } = setUp();
  queue.request(uidA);
  table.delete(uidA);
  expect(queue.takeDue()).toEqual([]);
  queue.request(uidA);
  table.delete(uidA);
  queue.request(uidA);
  expect(queue.takeDue()).toEqual(["a"]);
  expect(queue.nextDueInMs()).toBeUndefined();
});

test.each<{ requeue: Requeue; delayMs: number }>([
  { requeue: { kind: "immediate" }, delayMs: 0 },
  { requeue: { kind: "transient" }, delayMs: 1_000 },
  { requeue: { kind: "backoff" }, delayMs: 10_000 },
  { requeue: { kind: "backoff", untilMs: 4_000 }, delayMs: 4_000 },
  { requeue: { kind: "backoff", untilMs: -1 }, delayMs: 0 },
  { requeue: { kind: "backoff", untilMs: 900_000 }, delayMs: 60_000 },
  { requeue: { kind: "resync" }, delayMs: 60_000 },
])("after $requeue a pod is due in $delayMs ms", ({ requeue, delayMs }) => {
  const { queue } = setUp();
  queue.requeue(uidA, requeue);
  expect(queue.nextDueInMs()).toBe(delayMs);
});

test("a pod is due when its active deadline ends, if that is before", () => {
  const { queue, table } = setUp();
  const { uid } = deadlined.metadata;
  new PodRegistry(table).set(deadlined);
  queue.requeue(uid, { kind: "resync" });
  expect(queue.nextDueInMs()).toBe(7_000);
  queue.enqueue(uid, 3_000);
  expect(queue.nextDueInMs()).toBe(3_000);
});

const deadlined = buildPod({
  spec: { activeDeadlineSeconds: 7 },
  status: { phase: "Running", startTime: "1970-01-01T00:00:00Z" },
});
