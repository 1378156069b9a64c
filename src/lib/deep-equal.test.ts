import { expect, test } from "vitest";
import { deepEqual } from "./deep-equal.ts";

test.each([
  [{ a: 1, b: undefined }, { a: 1 }, true],
  [{ a: undefined }, { b: undefined }, true],
  [{ a: null }, {}, false],
  [{ a: [] }, {}, false],
  [[1, [2]], [1, [2]], true],
  [[1], { 0: 1 }, false],
  [{ a: { b: "x" } }, { a: { b: "y" } }, false],
  [{ a: 1 }, { a: 1, b: 2 }, false],
])("%j and %j: %s", (a, b, same) => {
  expect(deepEqual(a, b)).toBe(same);
  expect(deepEqual(b, a)).toBe(same);
});
