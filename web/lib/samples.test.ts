import { expect, test } from "vitest";
import { runsOf, sampleAt } from "./samples.ts";

const minuteMs = 60_000;
const samples = [0, 1, 2, 10, 11].map((minute) => ({ atMs: minute * minuteMs, value: minute }));

test("a time without samples is a gap in the line", () => {
  const lengths = runsOf(samples).map(({ length }) => length);
  expect(lengths).toEqual([3, 2]);
});

test("the value at a time is the newest up to then", () => {
  expect(sampleAt(samples, 2.5 * minuteMs)?.value).toBe(2);
});

test("a sample says nothing of a time long after it", () => {
  expect(sampleAt(samples, 6 * minuteMs)).toBeUndefined();
  expect(sampleAt([], 0)).toBeUndefined();
});
