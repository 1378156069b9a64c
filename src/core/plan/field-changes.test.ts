import fc from "fast-check";
import { expect, test } from "vitest";
import { fieldChanges } from "./field-changes.ts";

test("names what was added and what was changed, down to the single value", () => {
  const before = { name: "web", list: [{ a: 1 }], gone: true };
  const after = { name: "web-1", list: [{ a: 1, b: {} }, 2], labels: { "example.com/x": "y" } };
  expect(fieldChanges(before, after)).toEqual([
    { field: "name", from: "web", to: "web-1" },
    { field: "list[0].b", to: {} },
    { field: "list[1]", to: 2 },
    { field: "labels[example.com/x]", to: "y" },
  ]);
});

test("equal values have no changes", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(fieldChanges(value, value)).toEqual([]);
    }),
  );
});
