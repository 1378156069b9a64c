import { expect, test } from "vitest";
import {
  containerIdOfLegacyLogSymlink,
  legacyLogSymlink,
  nextRestartCountByLogs,
} from "./log-paths.ts";

test("a symlink gives its container id back", () => {
  const link = legacyLogSymlink({ namespace: "ns", name: "web-0" }, "app", "0123456789ab");
  expect(link).toBe("/var/log/containers/web-0_ns_app-0123456789ab.log");
  expect(containerIdOfLegacyLogSymlink(link)).toBe("0123456789ab");
});

test.each(["web_ns_app-123.log", "web_ns_app-0123456789ab.txt", ""])(
  "%j is no symlink of a container",
  (name) => {
    expect(containerIdOfLegacyLogSymlink(name)).toBeUndefined();
  },
);

test("a file named by a number that no counter reaches is not a log", () => {
  expect(nextRestartCountByLogs(["99999999999999999999.log", "2.log.gz"])).toBe(3);
});
