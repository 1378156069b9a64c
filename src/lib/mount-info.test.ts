import { expect, test } from "vitest";
import {
  findMountOf,
  isSharedMount,
  linesAbovePath,
  linesWithPath,
  mountPointsBelow,
  parseMountInfo,
  splitMountOptions,
} from "./mount-info.ts";

const TEXT = `25 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 25 0:35 / /data/a rw - tmpfs tmpfs rw
41 40 0:36 / /data/a/with\\040space rw,nosuid shared:3 master:2 - overlay overlay rw,lowerdir=x
42 25 0:37 / /database rw - tmpfs tmpfs rw
`;

test("a mount's fields are read whatever optional fields there are", () => {
  const mounts = parseMountInfo(TEXT);
  expect(mounts.map(({ id, mountPoint }) => [id, mountPoint])).toEqual([
    ["25", "/"],
    ["40", "/data/a"],
    ["41", "/data/a/with space"],
    ["42", "/database"],
  ]);
  expect(mounts[2]).toEqual({
    id: "41",
    parentId: "40",
    device: "0:36",
    root: "/",
    mountPoint: "/data/a/with space",
    options: "rw,nosuid",
    optionalFields: ["shared:3", "master:2"],
    fileSystem: "overlay",
    source: "overlay",
    superOptions: "rw,lowerdir=x",
  });
  expect(mounts.map(isSharedMount)).toEqual([true, false, true, false]);
});

test("a source without a name is a source", () => {
  const [mount] = parseMountInfo("40 25 0:35 / /data rw - tmpfs  rw,size=1k\n");
  expect(mount).toMatchObject({ fileSystem: "tmpfs", source: "", superOptions: "rw,size=1k" });
});

test("a comma in quotes belongs to its option", () => {
  expect(splitMountOptions('rw,context="a:s0:c1,c2",noatime')).toEqual([
    "rw",
    'context="a:s0:c1,c2"',
    "noatime",
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

test.each(["/data/a/with space/file", "/data/a/x", "/database", "/databases/x", "/data", "/"])(
  "the lines above %s name the mount that it is on",
  (path) => {
    const above = parseMountInfo(linesAbovePath(TEXT, path));
    expect(findMountOf(above, path)).toEqual(findMountOf(parseMountInfo(TEXT), path));
  },
);

test("lines about other paths are left out", () => {
  expect(parseMountInfo(linesAbovePath(TEXT, "/data/a")).map(({ id }) => id)).toEqual([
    "25",
    "40",
    "41",
  ]);
  expect(parseMountInfo(linesWithPath(TEXT, "/data/a")).map(({ id }) => id)).toEqual(["40", "41"]);
});

test("a path that the kernel writes in octal is looked for in all lines", () => {
  const path = "/data/a/with space";
  const mounts = parseMountInfo(linesWithPath(TEXT, path));
  expect(mountPointsBelow(mounts, path)).toEqual([path]);
});
