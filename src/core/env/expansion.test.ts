import { expect, test } from "vitest";
import { expand } from "./expansion.ts";

const values: Readonly<Record<string, string>> = { A: "ä", B: "bb" };
const lookUp = (name: string) => values[name];

test.each([
  { template: "$(A)$(B)", maxBytes: 4, expanded: "äbb" },
  { template: "$(A)$(B)", maxBytes: 3, expanded: undefined },
  { template: "x$(A)", maxBytes: 3, expanded: "xä" },
  { template: "x$(A)", maxBytes: 2, expanded: undefined },
  { template: "$(A)x", maxBytes: 2, expanded: undefined },
  { template: "$(missing)", maxBytes: 10, expanded: "$(missing)" },
  { template: "$(missing)", maxBytes: 9, expanded: undefined },
  { template: "plain", maxBytes: 4, expanded: undefined },
  { template: "$$(A) $( $(", maxBytes: 20, expanded: "$(A) $( $(" },
])("$template within $maxBytes bytes is $expanded", ({ template, maxBytes, expanded }) => {
  expect(expand(template, lookUp, maxBytes)).toBe(expanded);
});
