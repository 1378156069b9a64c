import { expect, test } from "vitest";
import { formatAge, parseDuration } from "./duration.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

test.each([
  [-5 * second, "<invalid>"],
  [-second, "0s"],
  [0, "0s"],
  [119 * second, "119s"],
  [2 * minute, "2m"],
  [9 * minute + 59 * second, "9m59s"],
  [179 * minute, "179m"],
  [3 * hour, "3h"],
  [3 * hour + 5 * minute, "3h5m"],
  [47 * hour, "47h"],
  [2 * day, "2d"],
  [2 * day + 3 * hour, "2d3h"],
  [8 * day, "8d"],
  [729 * day, "729d"],
  [731 * day, "2y1d"],
  [3000 * day, "8y"],
])("%d ms is shown as %s", (ms, expected) => {
  expect(formatAge(ms)).toBe(expected);
});

test.each([
  ["10", 10_000],
  ["90s", 90_000],
  ["1h30m", 5_400_000],
  ["1.5m", 90_000],
  ["500ms", 500],
  ["", undefined],
  ["5 minutes", undefined],
  ["-5s", undefined],
])("%j is read as %s ms", (text, expected) => {
  expect(parseDuration(text)).toBe(expected);
});
