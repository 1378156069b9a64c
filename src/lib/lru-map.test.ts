import { expect, test } from "vitest";
import { LruMap } from "./lru-map.ts";

test("what was not used for longest is forgotten", () => {
  const map = new LruMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  expect(map.get("a")).toBe(1);
  map.set("c", 3);
  expect(map.get("b")).toBeUndefined();
  expect([map.get("a"), map.get("c"), map.size]).toEqual([1, 3, 2]);
});
