import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { onAbort } from "./on-abort.ts";

test("all that wait for an abort are called in their order, and those that no longer do are not", () => {
  const end = new AbortController();
  const called: string[] = [];
  onAbort(end.signal, () => called.push("first"));
  const release = onAbort(end.signal, () => called.push("second"));
  onAbort(end.signal, () => called.push("third"));
  expect(getEventListeners(end.signal, "abort")).toHaveLength(1);
  release();
  end.abort();
  expect(called).toEqual(["first", "third"]);
  onAbort(end.signal, () => called.push("late"));
  end.abort();
  expect(called).toEqual(["first", "third"]);
});

test("a callback that is given twice is called twice", () => {
  const end = new AbortController();
  let calls = 0;
  const count = (): void => void calls++;
  const release = onAbort(end.signal, count);
  onAbort(end.signal, count);
  onAbort(end.signal, count);
  release();
  end.abort();
  expect(calls).toBe(2);
});
