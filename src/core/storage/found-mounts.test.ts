import { expect, test } from "vitest";
import { podUid } from "../../model/ids.ts";
import { globalMapPathOf, seLinuxContextOf } from "./found-mounts.ts";

test("a device is found by the pod and by what is bound", () => {
  const folder = "/r/plugins/kubernetes.io/fc/volumeDevices";
  const mounts = [
    { mountPoint: `${folder}/5006-lun-0/uid-1`, root: "/sda" },
    { mountPoint: `${folder}/5006-lun-1/uid-1`, root: "/sdb" },
    { mountPoint: `${folder}/5006-lun-1/uid-2`, root: "/sdb" },
  ];
  const found = (uid: string, device: string) =>
    globalMapPathOf(mounts, folder, podUid(uid), device);
  expect(found("uid-1", "/dev/sdb")).toBe(`${folder}/5006-lun-1`);
  expect(found("uid-2", "/dev/sda")).toBeUndefined();
  expect(globalMapPathOf(mounts, "/r/other", podUid("uid-1"), "/dev/sda")).toBeUndefined();
});

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
