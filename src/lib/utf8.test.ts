import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeUtf8, decodeUtf8With } from "./utf8.ts";

test("well-formed text comes back unchanged", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      expect(decodeUtf8(new TextEncoder().encode(text))).toBe(text);
    }),
  );
});

test("any bytes decode, and only stray ones are replaced one by one", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      let strays = 0;
      const text = decodeUtf8With(bytes, () => {
        strays++;
        return "";
      });
      expect(new TextEncoder().encode(text).length).toBe(bytes.length - strays);
    }),
  );
});

test("a cut character counts once per byte", () => {
  expect(decodeUtf8(Uint8Array.of(0x61, 0xe2, 0x9c))).toBe("a\uFFFD\uFFFD");
});
