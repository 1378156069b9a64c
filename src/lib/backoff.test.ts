import { expect, test } from "vitest";
import { Backoff, delayAfterMs, withJitter } from "./backoff.ts";

const limits = { initialMs: 100, maxMs: 500 };

test("delays double up to the limit and begin again after a reset", () => {
  const backoff = new Backoff(limits);
  expect([1, 2, 3, 4, 5].map(() => backoff.nextMs())).toEqual([100, 200, 400, 500, 500]);
  backoff.reset();
  expect(backoff.nextMs()).toBe(100);
});

test("the delay after a number of failures is that of the same number of tries", () => {
  const backoff = new Backoff(limits);
  for (const failures of [1, 2, 3, 4, 5]) {
    expect(delayAfterMs(failures, limits)).toBe(backoff.nextMs());
  }
});

test("jitter adds to each delay and not to the next one", () => {
  let random = 1;
  const backoff = new Backoff({ ...limits, jitter: { share: 0.5, random: () => random } });
  expect(backoff.nextMs()).toBe(150);
  random = 0;
  expect(backoff.nextMs()).toBe(200);
  expect(withJitter(100, 1, 0.25)).toBe(125);
});

test("after a quiet time the delays begin again", () => {
  let nowMs = 0;
  const backoff = new Backoff({ ...limits, quiet: { ms: 1000, nowMs: () => nowMs } });
  expect(backoff.nextMs()).toBe(100);
  nowMs = 1000;
  expect(backoff.nextMs()).toBe(200);
  nowMs = 2001;
  expect(backoff.nextMs()).toBe(100);
});
