import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { sha256 } from "./sha256.ts";

const expected = (text: string): string => createHash("sha256").update(text).digest("hex");

test("texts of every length around a block hash as they do elsewhere", () => {
  for (let length = 0; length < 200; length += 1) {
    const text = "x".repeat(length);
    expect(sha256(text)).toBe(expected(text));
  }
});

test("any text hashes as it does elsewhere", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 300 }), (text) => {
      expect(sha256(text)).toBe(expected(text));
    }),
  );
});
