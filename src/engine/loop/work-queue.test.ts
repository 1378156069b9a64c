import { expect, test } from "vitest";
import { PodTable } from "../pods/pod-table.ts";
import { WorkQueue } from "./work-queue.ts";

function setUp() {
  let nowMs = 0;
  const queue = new WorkQueue({ monotonicMs: () => nowMs }, new PodTable());
  return {
    queue,
    setTime: (ms: number) => {
      nowMs = ms;
    },
  };
}

test("each pod comes due once, at the time it was last put off to", () => {
  const { queue, setTime } = setUp();
  queue.enqueue("a", 100);
  queue.enqueue("b", 0);
  queue.enqueue("a", 200);
  expect(queue.takeDue()).toEqual(["b"]);
  setTime(100);
  expect(queue.takeDue()).toEqual([]);
  setTime(200);
  expect(queue.takeDue()).toEqual(["a"]);
  expect(queue.takeDue()).toEqual([]);
});

test("a pod that is requested is due at once, and at its time again", () => {
  const { queue, setTime } = setUp();
  queue.enqueue("a", 100);
  queue.request("a");
  queue.enqueue("a", 200);
  expect(queue.nextDueInMs()).toBe(0);
  expect(queue.takeDue()).toEqual(["a"]);
  expect(queue.nextDueInMs()).toBe(200);
  setTime(200);
  expect(queue.takeDue()).toEqual(["a"]);
  expect(queue.nextDueInMs()).toBeUndefined();
});
