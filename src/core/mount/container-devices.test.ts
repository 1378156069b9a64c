import { expect, test } from "vitest";
import { containerDevices } from "./container-devices.ts";

const volume = {
  kind: "kubernetes.io/csi",
  path: "/pods/u/volumeDevices/kubernetes.io~csi/pv",
  readOnly: false,
  managed: false,
  selinuxRelabel: false,
  selinuxLabeled: false,
};
const container = { name: "main", volumeDevices: [{ name: "disk", devicePath: "/dev/xvda" }] };

test("a block volume is a device, which may be written to unless its claim is read-only", () => {
  const device = { hostPath: volume.path, containerPath: "/dev/xvda" };
  expect(containerDevices(container, new Map([["disk", volume]]))).toEqual({
    ok: true,
    value: [{ ...device, permissions: "mrw" }],
  });
  const readOnly = new Map([["disk", { ...volume, readOnly: true }]]);
  expect(containerDevices(container, readOnly)).toEqual({
    ok: true,
    value: [{ ...device, permissions: "r" }],
  });
});

test("a device whose volume is not there is named", () => {
  expect(containerDevices(container, new Map())).toEqual({
    ok: false,
    error: 'cannot find volume "disk" to pass into container "main"',
  });
});
