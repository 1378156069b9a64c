import { expect, test } from "vitest";
import { WorkQueue } from "./work-queue.ts";

test("each pod comes due once, at the time it was last put off to", () => {
  let nowMs = 0;
  const queue = new WorkQueue({
    nowMs: () => 0,
    monotonicMs: () => nowMs,
    sleep: () => Promise.resolve(),
  });
  queue.enqueue("a", 100);
  queue.enqueue("b", 0);
  queue.enqueue("a", 200);
  expect(queue.takeDue()).toEqual(["b"]);
  nowMs = 100;
  expect(queue.takeDue()).toEqual([]);
  nowMs = 200;
  expect(queue.takeDue()).toEqual(["a"]);
  expect(queue.takeDue()).toEqual([]);
});
