import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeBase64 } from "./base64.ts";

test("bytes come back from their base64", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(decodeBase64(Buffer.from(bytes).toString("base64"))).toEqual(new Uint8Array(bytes));
    }),
  );
});

test.each(["a", "ab=", "a===", "YQ", "YQ==YQ==", "Y-=="])("%s is not base64", (text) => {
  expect(decodeBase64(text)).toBeUndefined();
});

test("line breaks do not matter", () => {
  expect(decodeBase64("YW\nJj\r\n")).toEqual(new TextEncoder().encode("abc"));
});
