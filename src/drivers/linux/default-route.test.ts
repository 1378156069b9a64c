import { expect, test } from "vitest";
import { chooseDefaultIp } from "./default-route.ts";

const ipv4 = [
  "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask",
  "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF",
  "eth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000",
].join("\n");
const ipv6 =
  "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n" +
  "00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n";

const address = (text: string) => ({
  address: text,
  netmask: "",
  mac: "",
  internal: false,
  cidr: null,
  ...(text.includes(":") ? { family: "IPv6" as const, scopeid: 0 } : { family: "IPv4" as const }),
});

test("the address on the default route's interface is chosen, of the wanted family", () => {
  const interfaces = {
    docker0: [address("172.17.0.1")],
    eth0: [address("fe80::1"), address("fd00::5"), address("192.168.2.5")],
  };
  expect(chooseDefaultIp({ ipv4, ipv6 }, interfaces, 4)).toEqual({
    ok: true,
    value: "192.168.2.5",
  });
  expect(chooseDefaultIp({ ipv4, ipv6 }, interfaces, 6)).toEqual({ ok: true, value: "fd00::5" });
});

test("the other family's address is taken where the wanted one has none", () => {
  const interfaces = { eth0: [address("192.168.2.5"), address("fe80::1")] };
  expect(chooseDefaultIp({ ipv4, ipv6 }, interfaces, 6)).toMatchObject({ value: "192.168.2.5" });
});

test("a global address on the loopback interface serves links that have local ones only", () => {
  const interfaces = {
    eth0: [address("fe80::1")],
    lo: [address("127.0.0.1"), address("10.1.1.1")],
  };
  expect(chooseDefaultIp({ ipv4, ipv6: "" }, interfaces, 4)).toMatchObject({ value: "10.1.1.1" });
});

test("a machine without a default route says so", () => {
  expect(chooseDefaultIp({ ipv4: "", ipv6: "" }, {}, 4)).toMatchObject({ ok: false });
  expect(chooseDefaultIp({ ipv4, ipv6 }, { eth0: [] }, 4)).toEqual({
    ok: false,
    error: "unable to select an IP from default routes.",
  });
});
