import { expect, test } from "vitest";
import { seLinuxContextOf } from "./selinux-context.ts";

test.each([
  ['rw,context="system_u:object_r:c_t:s0:c1,c2",noatime', "system_u:object_r:c_t:s0:c1,c2"],
  ["rw,context=system_u:object_r:c_t:s0", "system_u:object_r:c_t:s0"],
  ["rw,fscontext=system_u:object_r:c_t:s0", undefined],
  ["rw", undefined],
])("the SELinux context of a mount is read from %s", (superOptions, expected) => {
  const mounts = [{ mountPoint: "/x", superOptions }];
  expect(seLinuxContextOf(mounts, "/x")).toBe(expected);
  expect(seLinuxContextOf(mounts, "/y")).toBeUndefined();
});
