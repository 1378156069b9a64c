import { expect, test } from "vitest";
import { crc32 } from "./crc32.ts";

test("the check value of CRC-32", () => {
  expect(crc32("123456789")).toBe(0xcbf43926);
  expect(crc32("")).toBe(0);
});
