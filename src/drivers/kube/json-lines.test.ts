import fc from "fast-check";
import { expect, test } from "vitest";
import { JsonLines } from "./json-lines.ts";

test("lines are the same however the bytes are cut, also inside a character", () => {
  const texts = fc.array(
    fc.string({ unit: "grapheme", minLength: 1 }).map((text) => JSON.stringify(text)),
  );
  fc.assert(
    fc.property(texts, fc.array(fc.nat({ max: 5 })), (expected, cuts) => {
      const bytes = Buffer.from(expected.map((text) => `${text}\n`).join(""));
      const lines: string[] = [];
      const reader = new JsonLines(1_000_000, (line) => lines.push(line));
      let at = 0;
      for (const length of cuts) {
        reader.push(bytes.subarray(at, at + length));
        at += length;
      }
      reader.push(bytes.subarray(at));
      expect(lines).toEqual(expected);
      expect(reader.isMidLine).toBe(false);
    }),
  );
});

test("a line without end is refused before it fills the memory", () => {
  const reader = new JsonLines(10, () => undefined);
  reader.push(Buffer.from("0123456789"));
  expect(reader.isMidLine).toBe(true);
  expect(() => reader.push(Buffer.from("0"))).toThrow("longer than 10 bytes");
});
