import { expect, test } from "vitest";
import { hostNumberOf, portalHosts } from "./iscsi-sessions.ts";

test("a session is found by the current and by the configured address of its portal", () => {
  const connection = {
    address: "fd00::5",
    port: "3260",
    persistentAddress: "storage.example",
    persistentPort: "3261",
  };
  const hosts = portalHosts([{ hostNumber: 4, connections: [connection] }]);
  expect([...hosts]).toEqual([
    ["[fd00::5]:3260", 4],
    ["storage.example:3261", 4],
  ]);
});

test("only hostN is a host", () => {
  expect(["host12", "host", "hostx", "target1"].map(hostNumberOf)).toEqual([
    12,
    undefined,
    undefined,
    undefined,
  ]);
});
