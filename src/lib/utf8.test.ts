import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeUtf8, decodeUtf8With, utf8Length } from "./utf8.ts";

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

test("a text takes as many bytes as its encoding has", () => {
  const texts = ["", "abc", "ä", "世", "😀", "\ud800", "\ud800a", "\udc00\ud800", "a😀b"];
  for (const text of texts) {
    expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
  }
  expect(utf8Length("aäb", 1, 2)).toBe(2);
});
