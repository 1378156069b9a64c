import { expect, test } from "vitest";
import type { ISCSIPersistentVolumeSource } from "../../../model/generated/kubernetes.ts";
import type { VolumeSpec } from "../volume-spec.ts";
import { chapSecret, iscsiDeviceMountPath, iscsiGlobalMapPath, iscsiVolume } from "./iscsi-disk.ts";

const source = { targetPortal: "10.0.0.1", iqn: "iqn.2003-01.io.example:a", lun: 2 };

function claimed(fields: Partial<ISCSIPersistentVolumeSource>): VolumeSpec {
  const persistentVolume = { metadata: { name: "pv" }, spec: { iscsi: { ...source, ...fields } } };
  return { source: "persistentVolume", persistentVolume, readOnly: true };
}

function diskOf(spec: VolumeSpec) {
  const volume = iscsiVolume(spec);
  if (!volume.ok) throw new Error(volume.error.message);
  return volume.value.disk;
}

test("portals without a port have the one of iSCSI", () => {
  expect(diskOf(claimed({ portals: ["[fd00::5]:3260", "10.0.0.2"] })).portals).toEqual([
    "10.0.0.1:3260",
    "[fd00::5]:3260",
    "10.0.0.2:3260",
  ]);
});

test("a volume with an initiator name of its own has an interface of its own", () => {
  const plain = diskOf(claimed({ iscsiInterface: "eth1" }));
  const own = diskOf(claimed({ iscsiInterface: "eth1", initiatorName: "iqn.x:y" }));
  expect([plain.interface, own.initialInterface, own.interface]).toEqual([
    "eth1",
    "eth1",
    "10.0.0.1:3260:pv",
  ]);
});

test("a claimed volume is read-only as its claim's reference says, one of the pod by itself", () => {
  const inline: VolumeSpec = { source: "inline", volume: { name: "v", iscsi: source } };
  expect(iscsiVolume(claimed({ readOnly: false }))).toMatchObject({ value: { readOnly: true } });
  expect(iscsiVolume(inline)).toMatchObject({ value: { readOnly: false } });
});

test("a volume of another kind is refused", () => {
  const spec: VolumeSpec = { source: "inline", volume: { name: "v" } };
  expect(iscsiVolume(spec)).toMatchObject({
    error: { kind: "final", message: "Spec does not reference an ISCSI volume type" },
  });
});

test.each([
  [{ iscsiInterface: "x/../../../../../etc" }, "iscsi.iscsiInterface"],
  [{ targetPortal: "10.0.0.1:3260/.." }, "iscsi.targetPortal"],
  [{ portals: ["10.0.0.1", "/"] }, "iscsi.portals"],
  [{ iqn: "iqn.a/../b" }, "iscsi.iqn"],
])("%j is refused: it would lead out of the plugin's folder", (fields, field) => {
  expect(iscsiVolume(claimed(fields))).toMatchObject({
    error: { message: expect.stringMatching(new RegExp(`^${field}: .* must not contain a slash`)) },
  });
});

test("the folders of a disk name its interface, portal, target and LUN", () => {
  const disk = diskOf(claimed({ iscsiInterface: "default" }));
  const name = "iface-default/10.0.0.1:3260-iqn.2003-01.io.example:a-lun-2";
  expect(iscsiDeviceMountPath("/r/", disk)).toBe(`/r/plugins/kubernetes.io/iscsi/${name}`);
  expect(iscsiGlobalMapPath("/r/", disk)).toBe(
    `/r/plugins/kubernetes.io/iscsi/volumeDevices/${name}`,
  );
});

test("the secret is that of the volume, in the pod's namespace where it names none", () => {
  const secretRef = { name: "chap" };
  expect(chapSecret(claimed({ chapAuthSession: true, secretRef }), "ns")).toEqual({
    namespace: "ns",
    name: "chap",
  });
  const elsewhere = claimed({
    chapAuthDiscovery: true,
    secretRef: { name: "chap", namespace: "storage" },
  });
  expect(chapSecret(elsewhere, "ns")).toEqual({ namespace: "storage", name: "chap" });
});

test("a volume without CHAP needs no secret", () => {
  expect(chapSecret(claimed({ secretRef: { name: "chap" } }), "ns")).toBeUndefined();
  expect(chapSecret(claimed({ chapAuthSession: true }), "ns")).toBeUndefined();
});
