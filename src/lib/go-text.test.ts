import { expect, test } from "vitest";
import { durationText, jsonText, quoteText } from "./go-text.ts";

test.each([
  ["plain", '"plain"'],
  ['a"b\\c', '"a\\"b\\\\c"'],
  ["\n\t\v\x00\x7f", '"\\n\\t\\v\\x00\\x7f"'],
  ["é 漢 \u00a0\u200b\u{e0001}", '"é 漢 \\u00a0\\u200b\\U000e0001"'],
])("quotes %j", (text, quoted) => {
  expect(quoteText(text)).toBe(quoted);
});

test("escapes what HTML could take for markup in JSON", () => {
  expect(jsonText({ command: ["<a>&", "\u2028"] })).toBe(
    '{"command":["\\u003ca\\u003e\\u0026","\\u2028"]}',
  );
});

test.each([
  [0, "0s"],
  [7, "7ms"],
  [-1500, "-1.5s"],
  [10_000, "10s"],
  [90_001, "1m30.001s"],
  [3_600_000, "1h0m0s"],
])("writes %i ms as %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});
