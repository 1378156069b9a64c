import { expect, test } from "vitest";
import { overlappingRoute } from "./prepare-machine.ts";

const ROUTES = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
berth0\t0000580A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
`;

test.each([
  { subnet: [192, 168, 0, 0, 24], user: "eth0" },
  { subnet: [192, 168, 0, 64, 26], user: "eth0" },
  { subnet: [192, 0, 0, 0, 8], user: "eth0" },
  { subnet: [192, 168, 1, 0, 24], user: undefined },
  { subnet: [10, 88, 0, 0, 16], user: undefined },
])("the subnet $subnet is used by $user", ({ subnet, user }) => {
  const [a = 0, b = 0, c = 0, d = 0, bits = 0] = subnet;
  const address = ((a * 256 + b) * 256 + c) * 256 + d;
  const mask = (0xffffffff << (32 - bits)) >>> 0;
  expect(overlappingRoute(ROUTES, { address, mask }, "berth0")).toBe(user);
});
