import fc from "fast-check";
import { expect, test } from "vitest";
import {
  formatAge,
  formatNanoseconds,
  millisecondsOf,
  nanosecondsOf,
  parseDuration,
  parseNanoseconds,
} from "./duration.ts";

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
  ["1h2m3s4ms5us6ns", "1h2m3.004005006s"],
  ["+5s", "5s"],
  ["-1.5h", "-1h30m0s"],
  [".5ms", "500\u00b5s"],
  ["0", "0s"],
  ["-0", "0s"],
  ["1500us", "1.5ms"],
])("%s is %s", (text, canonical) => {
  const parsed = parseNanoseconds(text);
  expect(parsed.ok && formatNanoseconds(parsed.value)).toBe(canonical);
});

test.each([
  ["", 'time: invalid duration ""'],
  ["-", 'time: invalid duration "-"'],
  [".s", 'time: invalid duration ".s"'],
  ["10", 'time: missing unit in duration "10"'],
  ["1s5", 'time: missing unit in duration "1s5"'],
  ["1d", 'time: unknown unit "d" in duration "1d"'],
  ["1 m", 'time: unknown unit " m" in duration "1 m"'],
  ["9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'],
])("%s is refused: %s", (text, message) => {
  expect(parseNanoseconds(text)).toEqual({ ok: false, error: message });
});

test("what is written is read as the same", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (ns) => {
      expect(parseNanoseconds(formatNanoseconds(ns))).toEqual({ ok: true, value: ns });
    }),
  );
});

test.each([
  ["12h", 43_200_000],
  ["1m30s", 90_000],
  ["0", 0],
  ["1.5s", 1500],
  [".5m", 30_000],
  ["-5s", -5000],
  ["250us", 0.25],
])("%s is %d ms", (text, ms) => {
  expect(parseDuration(text)).toEqual({ ok: true, value: ms });
  expect(millisecondsOf(text)).toBe(ms);
});

test.each(["", "5", "s", "1d", "1 h", "--1s", "1s2", ".", "NaN"])(
  "%j is refused with an error that names it",
  (text) => {
    expect(parseDuration(text)).toMatchObject({ error: expect.stringContaining(`"${text}"`) });
    expect(() => millisecondsOf(text)).toThrow(`duration "${text}"`);
    expect(() => nanosecondsOf(text)).toThrow(`duration "${text}"`);
  },
);
