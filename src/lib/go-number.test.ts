import { expect, test } from "vitest";
import { parseGoBool, parseGoDecimal, parseGoInt, parseGoUint } from "./go-number.ts";

test.each([
  ["0x10", 16n],
  ["07", 7n],
  ["-0b11", -3n],
  ["1_000", 1000n],
  ["0x_1f", 31n],
  ["+5", 5n],
])("%s is the integer %d", (text, value) => {
  expect(parseGoInt(text, 32)).toEqual({ ok: true, value });
});

test.each(["", "x", "1__0", "_1", "1_", "08", "0x", "1.0", " 1"])(
  "%j is not an integer",
  (text) => {
    expect(parseGoInt(text, 64)).toEqual({
      ok: false,
      error: `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`,
    });
  },
);

test("integers have a range", () => {
  expect(parseGoInt("2147483648", 32).ok).toBe(false);
  expect(parseGoInt("-2147483648", 32).ok).toBe(true);
  expect(parseGoUint("2147483648", 31).ok).toBe(false);
  expect(parseGoDecimal("9223372036854775808").ok).toBe(false);
});

test("booleans have the words that Go knows", () => {
  expect(parseGoBool("T")).toEqual({ ok: true, value: true });
  expect(parseGoBool("0")).toEqual({ ok: true, value: false });
  expect(parseGoBool("yes").ok).toBe(false);
});
