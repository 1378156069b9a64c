import { expect, test } from "vitest";
import { otherNames } from "./found-names.ts";

test.each([
  [
    "kubernetes.io/iscsi/10.0.0.1:3260:iqn.2003-01.a:b:0",
    ["kubernetes.io/iscsi/10.0.0.1:iqn.2003-01.a:b:0"],
  ],
  ["kubernetes.io/iscsi/[::1]:3260:eui.00:1", ["kubernetes.io/iscsi/[::1]:eui.00:1"]],
  ["kubernetes.io/iscsi/10.0.0.1:3261:iqn.2003-01.a:b:0", []],
  ["kubernetes.io/iscsi/10.0.0.1:iqn.2003-01.a:b:3260", []],
  ["kubernetes.io/fc/[3600_A 3601]", ["kubernetes.io/fc/[3600 A 3601]"]],
  ["kubernetes.io/fc/[5006_1]:0", []],
  ["kubernetes.io/fc/[3600]", []],
  ["kubernetes.io/csi/d^a_b", []],
])("%s may also be called %j", (name, names) => {
  expect(otherNames(name)).toEqual(names);
});
