import { expect, test } from "vitest";
import { parseCgroupMounts } from "./cgroup-mounts.ts";

test("a hybrid machine has one hierarchy per controller and the unified one beside", () => {
  const { v1, v2 } = parseCgroupMounts(
    [
      "24 30 0:22 / /proc rw - proc proc rw",
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct",
      "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd",
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw",
      "",
    ].join("\n"),
  );
  expect(Object.fromEntries(v1)).toEqual({
    cpu: "/sys/fs/cgroup/cpu,cpuacct",
    cpuacct: "/sys/fs/cgroup/cpu,cpuacct",
    systemd: "/sys/fs/cgroup/systemd",
  });
  expect(v2).toBe("/sys/fs/cgroup/unified");
});

test("a controller that is mounted twice is used at the shorter path", () => {
  const { v1 } = parseCgroupMounts(
    [
      "1 0 0:1 / /var/lib/x/cgroup/memory rw - cgroup cgroup rw,memory",
      "2 0 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
      "3 0 0:1 / /a\\040b/long/sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
    ].join("\n"),
  );
  expect(v1.get("memory")).toBe("/sys/fs/cgroup/memory");
});

test("a path with blanks is read as it is on disk", () => {
  const { v2 } = parseCgroupMounts("3 0 0:1 / /a\\040b rw - cgroup2 none rw");
  expect(v2).toBe("/a b");
});
