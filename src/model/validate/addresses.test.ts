import { expect, test } from "vitest";
import { validateIp } from "./addresses.ts";

test.each([
  "1.2.3.4",
  "::",
  "::1",
  "fe80::1",
  "1:2:3:4:5:6:7:8",
  "FE80:0:0:0:0:0:0:0abc",
  "64:ff9b::1.2.3.4",
])("%s is an address", (address) => {
  expect(validateIp(address, "ip")).toEqual([]);
});

test.each([
  ["01.2.3.4", "must not have leading 0s"],
  ["::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"],
  ["1.2.3", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
  ["1::2::3", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
  ["12345::", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
  ["", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
])("%s is refused: %s", (address, detail) => {
  expect(validateIp(address, "ip")).toMatchObject([{ field: "ip", detail }]);
});
