import { expect, test } from "vitest";
import { parseSearchSettings, searchNames } from "./search-names.ts";

test("the last search or domain line counts, and options set the dots", () => {
  const text = "search a.test b.test.\n# search no\ndomain c.test\noptions rotate ndots:20\n";
  expect(parseSearchSettings(text, "node")).toEqual({ domains: ["c.test."], dots: 15 });
  expect(parseSearchSettings("options ndots:x\n", "node.z.test")).toEqual({
    domains: ["z.test."],
    dots: 1,
  });
  expect(parseSearchSettings("", "node").domains).toEqual([]);
});

test("no more than 32 domains are searched", () => {
  const text = `search ${Array.from({ length: 40 }, (_, index) => `d${index}.test`).join(" ")}`;
  expect(parseSearchSettings(text, "node").domains).toHaveLength(32);
});

test("a name with enough dots is tried as it is first, a complete one alone", () => {
  const settings = { domains: ["a.test.", "b.test."], dots: 2 };
  expect(searchNames("x.y", settings)).toEqual(["x.y.a.test.", "x.y.b.test.", "x.y."]);
  expect(searchNames("x.y.z", settings)).toEqual(["x.y.z.", "x.y.z.a.test.", "x.y.z.b.test."]);
  expect(searchNames("x.", settings)).toEqual(["x."]);
  expect(searchNames("x".repeat(255), settings)).toEqual([]);
});
