import { expect, test } from "vitest";
import { jsonText, quoteText } from "./go-text.ts";

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
