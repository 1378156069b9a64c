import { expect, test } from "vitest";
import { findMountOf, mountPointsBelow, parseMountInfo } from "./mount-info.ts";

const TEXT = `25 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 25 0:35 / /data/a rw - tmpfs tmpfs rw
41 40 0:36 / /data/a/with\\040space rw,nosuid shared:3 master:2 - overlay overlay rw,lowerdir=x
42 25 0:37 / /database rw - tmpfs tmpfs rw
`;

test("a mount's id, point, file system and sharing are read whatever optional fields there are", () => {
  expect(parseMountInfo(TEXT)).toEqual([
    { id: "25", mountPoint: "/", fileSystem: "ext4", isShared: true },
    { id: "40", mountPoint: "/data/a", fileSystem: "tmpfs", isShared: false },
    { id: "41", mountPoint: "/data/a/with space", fileSystem: "overlay", isShared: true },
    { id: "42", mountPoint: "/database", fileSystem: "tmpfs", isShared: false },
  ]);
});

test("inner mounts come first and a folder with the same beginning is not below", () => {
  const mounts = parseMountInfo(TEXT);
  expect(mountPointsBelow(mounts, "/data")).toEqual(["/data/a/with space", "/data/a"]);
  expect(mountPointsBelow(mounts, "/data/a")).toEqual(["/data/a/with space", "/data/a"]);
  expect(mountPointsBelow(mounts, "/dat")).toEqual([]);
});

test.each([
  ["/etc", "25"],
  ["/data/a", "40"],
  ["/data/ab", "25"],
  ["/data/a/with space/below", "43"],
])("the path %s is on the mount %s", (path, id) => {
  const above = "43 41 0:38 / /data/a/with\\040space rw shared:4 - tmpfs tmpfs rw\n";
  expect(findMountOf(parseMountInfo(`${TEXT}${above}`), path)).toMatchObject({ id });
});
