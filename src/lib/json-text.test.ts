import fc from "fast-check";
import { expect, test } from "vitest";
import { maxNestingDepth, parseJsonText } from "./json-text.ts";

function nested(depth: number): string {
  return `${"[".repeat(depth)}${"]".repeat(depth)}`;
}

test("text that is nested too deep is refused before it is parsed", () => {
  expect(parseJsonText(nested(maxNestingDepth))).toEqual(JSON.parse(nested(maxNestingDepth)));
  expect(() => parseJsonText(nested(maxNestingDepth + 1))).toThrow(
    "JSON is nested deeper than 100 levels",
  );
  expect(() => parseJsonText('{"a":'.repeat(1_000_000))).toThrow("deeper than 100");
});

test("brackets in strings and beside each other are not nested", () => {
  const brackets = "[".repeat(200);
  expect(parseJsonText(JSON.stringify([brackets, `"${brackets}`, `\\"${brackets}\\`]))).toEqual([
    brackets,
    `"${brackets}`,
    `\\"${brackets}\\`,
  ]);
  expect(parseJsonText(`[${"[],".repeat(200)}[]]`)).toHaveLength(201);
});

test("anything else means what it means to JSON.parse", () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(parseJsonText(text)).toEqual(JSON.parse(text));
    }),
  );
  expect(() => parseJsonText("{")).toThrow(SyntaxError);
});
