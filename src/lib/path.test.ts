import { posix } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanPath, joinPath, splitPath } from "./path.ts";

const paths = fc
  .array(fc.constantFrom("", ".", "..", "a", "b.c", "...", "-"))
  .map((parts) => parts.join("/"));

test("cleaning agrees with POSIX normalisation, but for the trailing slash", () => {
  fc.assert(
    fc.property(paths, (path) => {
      const normal = posix.normalize(path);
      expect(cleanPath(path)).toBe(normal.length > 1 ? normal.replace(/\/$/, "") : normal);
    }),
  );
});

test("joining skips empty parts", () => {
  expect(joinPath("", "")).toBe("");
  expect(joinPath("", "a", "", "../b")).toBe("b");
  expect(joinPath("/data/", "/pods", "x")).toBe("/data/pods/x");
});

test.each([
  ["/logs/pod/0.log", "/logs/pod", "0.log"],
  ["/top", "", "top"],
  ["name", "", "name"],
  ["", "", ""],
])("%j is %j and %j", (path, folder, name) => {
  expect(splitPath(path)).toEqual({ folder, name });
});
