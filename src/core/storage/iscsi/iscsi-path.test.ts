import { expect, test } from "vitest";
import { diskFolderName, interfaceOf, lunOf, portalAndIqn } from "./iscsi-path.ts";

test("the name of a disk's folder holds portal, target and LUN", () => {
  const name = "[fd00::5]:3260-eui.02004567A425678D-lun-3";
  expect(diskFolderName(`/p/iface-default/${name}`)).toMatchObject({ value: name });
  expect(portalAndIqn(name)).toMatchObject({
    value: { portal: "[fd00::5]:3260", iqn: "eui.02004567A425678D" },
  });
  expect(lunOf(name)).toBe("3");
});

test.each([
  ["/p/iface-a/disk", "a"],
  ["/p/iface-a/iface-b/disk", "b"],
  ["/p/iface-a/iface-b", "a"],
  ["/p/iface-/disk", undefined],
  ["/iface-a/disk", undefined],
  ["/p/iface-a/", undefined],
  ["/p/disk", undefined],
])("the interface of %s is %s", (path, expected) => {
  expect(interfaceOf(path)).toBe(expected);
});
