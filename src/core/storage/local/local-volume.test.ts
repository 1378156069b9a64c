import { expect, test } from "vitest";
import { err, ok } from "../../../lib/result.ts";
import type { VolumeSpec } from "../volume-spec.ts";
import { localDeviceMountPath, localMountsDirectory } from "./local-volume.ts";

const root = "/var/lib/kubelet";
const spec: VolumeSpec = {
  source: "persistentVolume",
  persistentVolume: { metadata: { name: "pv-1" }, spec: { local: { path: "/disk" } } },
  readOnly: false,
};

test("a folder is used where it is, a device is mounted below the plugin's folder", () => {
  expect(localDeviceMountPath(root, spec, () => ok("Directory"))).toEqual(ok("/disk"));
  expect(localDeviceMountPath(root, spec, () => ok("BlockDevice"))).toEqual(
    ok(`${localMountsDirectory(root)}/pv-1`),
  );
});

test("what cannot be looked at is refused with the reason", () => {
  expect(localDeviceMountPath(root, spec, () => err('path "/disk" does not exist'))).toEqual(
    err({ kind: "final", message: 'path "/disk" does not exist' }),
  );
});
