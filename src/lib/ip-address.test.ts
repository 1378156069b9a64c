import fc from "fast-check";
import { expect, test } from "vitest";
import { parseIpAddress } from "./ip-address.ts";

test.each([
  ["10.0.0.7", 4, "10.0.0.7"],
  ["010.000.00.7", 4, "10.0.0.7"],
  ["::ffff:10.0.0.7", 4, "10.0.0.7"],
  ["2001:DB8:0:0:1:0:0:1", 6, "2001:db8::1:0:0:1"],
  ["fe80:0:0:0:0:0:0:1", 6, "fe80::1"],
  ["::", 6, "::"],
  ["1:2:3:4:5:6:7:8", 6, "1:2:3:4:5:6:7:8"],
  ["1:0:3:4:5:6:7:8", 6, "1:0:3:4:5:6:7:8"],
  ["64:ff9b::1.2.3.4", 6, "64:ff9b::102:304"],
])("%s is an IPv%i address, written %s", (text, family, canonical) => {
  expect(parseIpAddress(text)).toEqual({ family, text: canonical });
});

test.each([
  "",
  "10.0.0",
  "10.0.0.256",
  "10.0.0.x",
  "1::2::3",
  ":1",
  "1:",
  "1:2:3",
  "::g",
  "fe80::1%eth0",
  "1.2.3.4::",
  "::12345",
  "1:2:3:4:5:6:7:8::",
])("%j is not an address", (text) => {
  expect(parseIpAddress(text)).toBeUndefined();
});

test("the canonical text of any address is read back as the same address", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const ip = parseIpAddress(text);
      expect(ip).toBeDefined();
      expect(parseIpAddress(ip?.text ?? "")).toEqual(ip);
    }),
  );
});
