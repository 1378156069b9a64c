import { expect, test } from "vitest";
import { forgetOldest } from "./forget-oldest.ts";

test("the oldest entries go until few enough are left", () => {
  const map = new Map([1, 2, 3, 4].map((key) => [key, `${key}`]));
  forgetOldest(map, 4);
  expect(map.size).toBe(4);
  forgetOldest(map, 2);
  expect([...map.keys()]).toEqual([3, 4]);
});
