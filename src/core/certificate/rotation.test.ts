import { expect, test } from "vitest";
import { hasSubject, nodeSubject, rotationTimeMs, servingSubject } from "./rotation.ts";

test("the next certificate is asked for between 70 and 90 % of a certificate's life", () => {
  const life = { notBeforeMs: 1000, notAfterMs: 2000 };
  expect(rotationTimeMs(life, 0)).toBeCloseTo(1700);
  expect(rotationTimeMs(life, 0.5)).toBeCloseTo(1800);
  expect(rotationTimeMs(life, 1)).toBeCloseTo(1900);
});

test("a serving certificate names the node's addresses once, in order, and waits for an IP", () => {
  const hostname = { type: "Hostname", address: "node-a" };
  expect(servingSubject("node-a", [hostname])).toBeUndefined();
  expect(
    servingSubject("node-a", [
      { type: "InternalIP", address: "10.0.0.2" },
      hostname,
      { type: "ExternalIP", address: "2001:DB8:0::1" },
      { type: "InternalIP", address: "10.0.0.2" },
      { type: "Hostname", address: "10.0.0.1" },
      { type: "InternalDNS", address: "a.internal" },
      { type: "ExternalIP", address: "not-an-ip" },
      { type: "InternalIP", address: "" },
    ]),
  ).toEqual({
    commonName: "system:node:node-a",
    organizations: ["system:nodes"],
    dnsNames: ["a.internal", "node-a"],
    ipAddresses: ["10.0.0.1", "10.0.0.2", "2001:db8::1"],
  });
});

test("a certificate may have more than is wanted, but not less", () => {
  const wanted = { ...nodeSubject("a"), dnsNames: ["x"], ipAddresses: ["1.2.3.4"] };
  expect(hasSubject({ ...wanted, dnsNames: ["y", "x"] }, wanted)).toBe(true);
  expect(hasSubject({ ...wanted, dnsNames: [] }, wanted)).toBe(false);
  expect(hasSubject({ ...wanted, ipAddresses: ["1.2.3.5"] }, wanted)).toBe(false);
  expect(hasSubject({ ...wanted, organizations: [] }, wanted)).toBe(false);
  expect(hasSubject({ ...wanted, commonName: "b" }, wanted)).toBe(false);
});
