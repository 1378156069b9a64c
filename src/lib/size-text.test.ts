import { expect, test } from "vitest";
import { sizeText } from "./size-text.ts";

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1.0 KiB"],
  [1280, "1.2 KiB"],
  [1408, "1.4 KiB"],
  [5 * 2 ** 30, "5.0 GiB"],
  [2 ** 52, "4096.0 TiB"],
])("%d bytes are %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});
