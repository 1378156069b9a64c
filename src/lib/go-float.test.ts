import fc from "fast-check";
import { expect, test } from "vitest";
import { parseGoFloat32, toInt64 } from "./go-float.ts";

test.each([
  ["12.5", 12.5],
  ["1_0", 10],
  [".5", 0.5],
  ["5.", 5],
  ["1e-400", 0],
  ["0x1p3", 8],
  ["0x1_0p1", 32],
  ["-0x.8p1", -1],
  ["+infinity", Number.POSITIVE_INFINITY],
  ["-Inf", Number.NEGATIVE_INFINITY],
  ["nan", Number.NaN],
  ["0.1", Math.fround(0.1)],
])("%s is read as a single-precision number", (text, value) => {
  expect(parseGoFloat32(text)).toEqual({ ok: true, value });
});

test.each(["", "+", "1e", "0x1", " 1", "1 ", "+nan", "_1", "1_", "1__0", "0x_p1", "1,5"])(
  "%j is not a number",
  (text) => {
    const error = `strconv.ParseFloat: parsing ${JSON.stringify(text)}: invalid syntax`;
    expect(parseGoFloat32(text)).toEqual({ ok: false, error });
  },
);

test("what single precision does not hold is out of range", () => {
  const error = 'strconv.ParseFloat: parsing "1e39": value out of range';
  expect(parseGoFloat32("1e39")).toEqual({ ok: false, error });
});

test("a number is cut towards zero where 64 bits hold it, and becomes the least one elsewhere", () => {
  fc.assert(
    fc.property(fc.double({ min: -1e15, max: 1e15, noNaN: true }), (value) => {
      expect(toInt64(value)).toBe(BigInt(Math.trunc(value)));
    }),
  );
  for (const value of [Number.NaN, 1e19, 2 ** 63, Number.NEGATIVE_INFINITY]) {
    expect(toInt64(value)).toBe(-(2n ** 63n));
  }
});
