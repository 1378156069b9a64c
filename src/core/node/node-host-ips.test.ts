import { expect, test } from "vitest";
import { nodeHostIps } from "./node-host-ips.ts";

const node = (...addresses: readonly (readonly [string, string])[]) => ({
  status: { addresses: addresses.map(([type, address]) => ({ type, address })) },
});

test("internal addresses come before external ones, and one of each family is returned", () => {
  const addresses = node(
    ["ExternalIP", "2001:db8::1"],
    ["Hostname", "a"],
    ["InternalIP", "10.0.0.5"],
    ["InternalIP", "10.0.0.6"],
  );
  expect(nodeHostIps(addresses)).toEqual(["10.0.0.5", "2001:db8::1"]);
});

test("a node without addresses has no host IPs", () => {
  expect(nodeHostIps(node(["Hostname", "a"]))).toEqual([]);
  expect(nodeHostIps(undefined)).toEqual([]);
});

test("an invalid address leaves the node without one", () => {
  expect(nodeHostIps(node(["InternalIP", "unknown"], ["ExternalIP", "203.0.113.9"]))).toEqual([
    "203.0.113.9",
  ]);
});
