import fc from "fast-check";
import { expect, test } from "vitest";
import { formatNanoseconds, parseNanoseconds } from "./nanoseconds.ts";

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
