import fc from "fast-check";
import { expect, test } from "vitest";
import { nodeText } from "../../lib/json-node.ts";
import { parseYaml, parseYamlDocuments } from "./parse-yaml.ts";

function jsonOf(text: string): string {
  const parsed = parseYaml(text);
  return parsed.ok ? nodeText(parsed.value) : parsed.error.message;
}

test.each([
  ["y", "true"],
  ["N", "false"],
  ["off", "false"],
  ["~", "null"],
  ["0x1F", "31"],
  ["017", "15"],
  ["0o17", "15"],
  ["0b11", "3"],
  ["08", "8"],
  ["1_000", "1000"],
  ["+5", "5"],
  ["1e3", "1000"],
  [".5", "0.5"],
  ["18446744073709551615", "18446744073709551615"],
  ["1:20", '"1:20"'],
  ["2024-01-01", '"2024-01-01"'],
  ["1e400", '"1e400"'],
  ["'yes'", '"yes"'],
  ["!!str 5", '"5"'],
  ["!!int '5'", "5"],
  ["!!binary YQ==", '"a"'],
  ["!unknown yes", '"yes"'],
  ["-0.0", "-0"],
])("the scalar %s means %s", (text, json) => {
  expect(jsonOf(`a: ${text}`)).toBe(`{"a":${json}}`);
});

test("the last of two equal keys counts, unless keys must be unique", () => {
  expect(jsonOf("a: 1\na: 2")).toBe('{"a":2}');
  const [document] = parseYamlDocuments("a: 1\na: 2", { areKeysUnique: true });
  expect(document?.ok).toBe(false);
});

test("anchors and merge keys are followed", () => {
  expect(jsonOf("a: &x {b: 1}\nc: {<<: *x, d: 2}")).toBe('{"a":{"b":1},"c":{"b":1,"d":2}}');
  // Not the name: it may be a password with a star and no quotes.
  expect(jsonOf("a: *x")).toContain("unknown anchor referenced");
});

test("a closing bracket may stand as far out as its key", () => {
  expect(jsonOf("a:\n  b: [\n    c\n  ]\n")).toBe('{"a":{"b":["c"]}}');
});

test("a block at the end has a line break only where the file has one", () => {
  expect(jsonOf("a: |\n  b")).toBe('{"a":"b"}');
  expect(jsonOf("a: |\n  b\n")).toBe('{"a":"b\\n"}');
});

test("an anchor cannot contain itself", () => {
  expect(jsonOf("a: &x [*x]")).toBe("yaml: line 1: anchor 'x' value contains itself");
});

test("aliases cannot blow a small text up", () => {
  const levels = Array.from({ length: 12 }, (_, index) => {
    const inner = index === 0 ? "x" : Array.from({ length: 9 }, () => `*a${index - 1}`).join(",");
    return `a${index}: &a${index} [${inner}]`;
  });
  expect(jsonOf(levels.join("\n"))).toContain("excessive aliasing");
});

test.each([
  ["keys", "a: 1\n".repeat(80_000), "more than 150000 tokens"],
  ["flow values", `[${"1,".repeat(80_000)}]`, "more than 150000 tokens"],
])("a document of very many %s is refused by its number", (_title, text, message) => {
  const parsed = parseYaml(text);
  expect(parsed.ok ? "" : parsed.error.message).toContain(message);
});

test("comments are not counted", () => {
  expect(jsonOf(`${"#\n".repeat(80_000)}a: 1`)).toBe('{"a":1}');
});

test.each([
  ["a quote with a backslash", String.raw`a: "it\'s"`, `{"a":"it's"}`],
  ["a line that ends with a carriage return", "a: b\rc: d\r", '{"a":"b","c":"d"}'],
  ["what follows the end of the document", "a: 1\n...\nb: [", '{"a":1}'],
  ["a collection without keys before a colon", "{}: x", "{}"],
  ["keys that are numbers", "0x10: a\n1e6: b\n.inf: c", '{".inf":"c","16":"a","1e+06":"b"}'],
  ["a sign behind the prefix", "a: 0b-11", '{"a":-3}'],
  ["underscores between digits", "a: .5_0\nb: ._5", '{"a":0.5,"b":"._5"}'],
  ["a merge that comes later", "a: &x {k: 1}\nb: {k: 2, <<: *x}", '{"a":{"k":1},"b":{"k":1}}'],
  ["folded lines", "a: >\n  b\n  c\n\n  d\n", '{"a":"b c\\nd\\n"}'],
  ["a key of another form", "? a\n: b", '{"a":"b"}'],
])("%s is read as Kubernetes reads it", (_title, text, json) => {
  expect(jsonOf(text)).toBe(json);
});

test.each([
  ["a: b\n  c: d", 2, 4, "mapping values are not allowed in this context"],
  ["a:\n\t- b", 2, 1, "found character that cannot start any token"],
  ["a: 'b\n", 2, 1, "found unexpected end of stream"],
  ["a: b\nc", 3, 1, "could not find expected ':'"],
  ["a: [b\nc: d", 2, 2, "did not find expected ',' or ']'"],
  ["a: x\u0000y", 1, 5, "control characters are not allowed"],
  ["!!int x", 1, 7, "the value of this !!int is something else"],
  ["? [a]\n: b", 1, 3, "invalid map key: a key must be a text, not array"],
])("%j is refused at %d:%d", (text, line, column, message) => {
  const parsed = parseYaml(text);
  expect(parsed.ok ? parsed.value : parsed.error).toEqual({
    message: `yaml: line ${line}: ${message}`,
    at: { line, column },
  });
});

test("a character that no YAML may have is not seen far behind the first document", () => {
  const padding = "# nothing\n".repeat(100);
  expect(jsonOf(`a: 1\n---\n${padding}b: \u0001`)).toBe('{"a":1}');
  expect(jsonOf("a: 1\n---\nb: \u0001")).toContain("control characters are not allowed");
});

test("syntax errors have a line", () => {
  const parsed = parseYaml("a: b\nc: [d\ne: f");
  expect(parsed.ok ? 0 : parsed.error.at.line).toBeGreaterThan(1);
});

test("any text is either read or refused, and never throws", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      expect(parseYaml(text)).toBeDefined();
    }),
  );
});

test("text that is nested without end is refused by that", () => {
  const parsed = parseYaml("[".repeat(20_000));
  expect(parsed.ok ? "" : parsed.error.message).toContain("exceeded max depth");
});
