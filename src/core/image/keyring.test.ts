import { expect, test } from "vitest";
import { findLogins } from "./keyring.ts";

function login(address: string, username = address) {
  return { address, username, password: "p" };
}

function usersFor(repository: string, addresses: readonly string[]) {
  return findLogins(
    addresses.map((address) => login(address)),
    repository,
  ).map(({ username }) => username);
}

test.each([
  { address: "registry.io", repository: "registry.io/a/b", fits: true },
  { address: "https://registry.io", repository: "registry.io/a", fits: true },
  { address: "http://registry.io/v2/", repository: "registry.io/a", fits: true },
  { address: "registry.io/v1/", repository: "registry.io/a", fits: true },
  { address: "registry.io/a", repository: "registry.io/a/b", fits: true },
  { address: "registry.io/a", repository: "registry.io/ab", fits: true },
  { address: "registry.io/b", repository: "registry.io/a", fits: false },
  { address: "registry.io:5000", repository: "registry.io/a", fits: false },
  { address: "registry.io", repository: "registry.io:5000/a", fits: false },
  { address: "127.0.0.1:5000", repository: "127.0.0.1:5000/a", fits: true },
  { address: "*.registry.io", repository: "eu.registry.io/a", fits: true },
  { address: "*.registry.io", repository: "registry.io/a", fits: false },
  { address: "*.registry.io", repository: "a.eu.registry.io/a", fits: false },
  { address: "prefix*.registry.io:5000/a", repository: "prefix-1.registry.io:5000/a", fits: true },
  { address: "*.*", repository: "registry.io/a", fits: true },
  { address: "[a-c]x.io", repository: "bx.io/a", fits: false },
  { address: "x[a-c].io", repository: "xb.io/a", fits: true },
  { address: "x[a-c].io", repository: "xd.io/a", fits: false },
  { address: "x[a-.io", repository: "xa.io/a", fits: false },
  { address: "[::1]:5000", repository: "[::1]:5000/a", fits: true },
  { address: "[::1", repository: "[::1/a", fits: false },
  { address: "regi stry.io", repository: "registry.io/a", fits: false },
  { address: "registry.io:port", repository: "registry.io/a", fits: false },
])("a login for $address fits $repository: $fits", ({ address, repository, fits }) => {
  expect(usersFor(repository, [address])).toEqual(fits ? [address] : []);
});

test("logins for longer addresses come first", () => {
  const addresses = ["registry.io", "registry.io/a/b", "registry.io/a"];
  expect(usersFor("registry.io/a/b/c", addresses)).toEqual([
    "registry.io/a/b",
    "registry.io/a",
    "registry.io",
  ]);
});

test("several logins for one address are all tried, in their order", () => {
  const logins = [login("registry.io", "first"), login("https://registry.io/v2/", "second")];
  expect(findLogins(logins, "registry.io/a").map(({ username }) => username)).toEqual([
    "first",
    "second",
  ]);
});

test("a login of Docker's own registry serves its images under every name", () => {
  const docker = "https://index.docker.io/v1/";
  for (const repository of ["docker.io/library/busybox", "index.docker.io/a/b", "busybox", "a/b"]) {
    expect(usersFor(repository, [docker, "registry.io"])).toEqual([docker]);
  }
  expect(usersFor("registry.io/a", [docker])).toEqual([]);
});
