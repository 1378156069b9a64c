import { expect, test } from "vitest";
import { parseGoDuration } from "./go-duration.ts";

test.each([
  ["12h", 43_200_000],
  ["1m30s", 90_000],
  ["0", 0],
  ["1.5s", 1500],
  [".5m", 30_000],
  ["-5s", -5000],
  ["250us", 0.25],
])("%s is %d ms", (text, ms) => {
  expect(parseGoDuration(text)).toBe(ms);
});

test.each(["", "5", "s", "1d", "1 h", "--1s", "1s2", "."])("%j is no duration", (text) => {
  expect(parseGoDuration(text)).toBeUndefined();
});
