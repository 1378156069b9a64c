import fc from "fast-check";
import { expect, test } from "vitest";
import { nodeText, positionOf } from "./json-node.ts";
import { parseJson } from "./json-parser.ts";

test("every JSON value is read as JSON.parse reads it", () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const parsed = parseJson(text);
      expect(parsed.ok && JSON.parse(nodeText(parsed.value))).toEqual(JSON.parse(text));
    }),
  );
});

test("any text is either read or refused with a place, and never throws", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const parsed = parseJson(text);
      expect(parsed.ok || parsed.error.at.line > 0).toBe(true);
    }),
  );
});

test.each([
  ['{"a":1}x', "invalid character 'x' after top-level value"],
  ["{a:1}", "invalid character 'a' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b"}', "invalid character '\"' after object key:value pair"],
  ["[1 2]", "invalid character '2' after array element"],
  ["[tru]", "invalid character ']' in literal true (expecting 'e')"],
  ['"a\nb"', "invalid character '\\n' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ["-a", "invalid character 'a' in numeric literal"],
  ["1.a", "invalid character 'a' after decimal point in numeric literal"],
  ['{"a":', "unexpected end of JSON input"],
])("%j is refused: %s", (text, message) => {
  const parsed = parseJson(text);
  expect(parsed.ok ? "" : parsed.error.message).toBe(message);
});

test("deep nesting is refused instead of ending the process", () => {
  const parsed = parseJson("[".repeat(100_000));
  expect(parsed.ok ? "" : parsed.error.message).toBe("exceeded max depth of 100");
});

test.each([`[${"1,".repeat(100_000)}1]`, `{${'"a":1,'.repeat(50_000)}"a":1}`])(
  "very many values are refused by their number",
  (text) => {
    const parsed = parseJson(text);
    expect(parsed.ok ? "" : parsed.error.message).toMatch(/^more than 100000 keys and values/);
  },
);

test("a field is found where it stands, and its nearest parent where it is missing", () => {
  const parsed = parseJson(
    '{\n  "spec": {\n    "containers": [\n      {"name": "c"}\n    ]\n  }\n}',
  );
  if (!parsed.ok) throw new Error(parsed.error.message);
  expect(positionOf(parsed.value, "spec.containers[0].name")).toEqual({ line: 4, column: 8 });
  expect(positionOf(parsed.value, "spec.containers[0].image")).toEqual({ line: 4, column: 7 });
  expect(positionOf(parsed.value, "metadata.name")).toEqual({ line: 1, column: 1 });
});
