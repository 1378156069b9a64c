import { expect, test } from "vitest";
import { findLogins } from "../../src/core/image/keyring.ts";

// A pull secret is the tenant's own text, and the image of his pod too: together they are a glob and what it is held against.
const login = (address: string) => ({ address, username: "tenant", password: "x" });

test("a pull secret with many stars is judged at once", () => {
  const startedMs = process.cpuUsage().user / 1000;
  const logins = [login("*a*a*a*a*a*a*a*b.io"), login("*a*a*a*a*a*a*a*a.io")];
  const found = findLogins(logins, `${"a".repeat(60)}.io/x`);
  expect(found.map(({ address }) => address)).toEqual(["*a*a*a*a*a*a*a*a.io"]);
  expect(process.cpuUsage().user / 1000 - startedMs).toBeLessThan(5000);
});

test("a pull secret with very many entries of one registry is judged at once", () => {
  const startedMs = process.cpuUsage().user / 1000;
  const logins = Array.from({ length: 100_000 }, (_, index) => login(`a.io?${index}`));
  expect(findLogins(logins, "a.io/x")).toHaveLength(100_000);
  expect(process.cpuUsage().user / 1000 - startedMs).toBeLessThan(5000);
});
