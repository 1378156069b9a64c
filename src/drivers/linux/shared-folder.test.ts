import { expect, test } from "vitest";
import { parseMountInfo } from "../../lib/mount-info.ts";
import { findMountOf } from "./shared-folder.ts";

const mounts = parseMountInfo(
  [
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw",
    "30 27 254:0 /data /data rw shared:9 master:2 - ext4 /dev/vda rw",
    "31 30 254:0 /data/shop /data/shop rw - ext4 /dev/vda rw",
    "32 31 254:0 /data/shop /data/shop rw shared:4 - ext4 /dev/vda rw",
  ].join("\n"),
);

test.each([
  ["/etc", "/", false],
  ["/data", "/data", true],
  ["/database", "/", false],
  ["/data/shop/pods", "/data/shop", true],
])("the path %s is on the mount %s", (path, mountPoint, isShared) => {
  expect(findMountOf(mounts, path)).toMatchObject({ mountPoint, isShared });
});
