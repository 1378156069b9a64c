import { expect, test } from "vitest";
import { legacyLogSymlink, nextRestartCountByLogs } from "./log-paths.ts";

test("a symlink names its pod and container", () => {
  const link = legacyLogSymlink({ namespace: "ns", name: "web-0" }, "app", "0123456789ab");
  expect(link).toBe("/var/log/containers/web-0_ns_app-0123456789ab.log");
});

test("a file named by a number that no counter reaches is not a log", () => {
  expect(nextRestartCountByLogs(["99999999999999999999.log", "2.log.gz"])).toBe(3);
});
