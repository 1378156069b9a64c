import { expect, test } from "vitest";
import type { FCVolumeSource } from "../../../model/generated/kubernetes.ts";
import type { VolumeSpec } from "../volume-spec.ts";
import { fcDeviceMountPath, fcGlobalMapPath, fcPluginName, fcVolume } from "./fc-disk.ts";
import { byIdFolder, byPathFolder, detachLink, fcLinks } from "./fc-links.ts";

function inline(fc: FCVolumeSource | undefined): VolumeSpec {
  return { source: "inline", volume: { name: "v", fc } };
}

function diskOf(source: FCVolumeSource) {
  const volume = fcVolume(inline(source), "mounter");
  if (!volume.ok) throw new Error(volume.error.message);
  return volume.value.disk;
}

test("the folders of a disk name its targets and LUN, or its identifiers", () => {
  const byLun = diskOf({ targetWWNs: ["5006", "5007"], lun: 0 });
  const byId = diskOf({ wwids: ["3600 A", "3601"] });
  expect(fcDeviceMountPath("/r", byLun)).toBe(`/r/plugins/${fcPluginName}/5006-5007-lun-0`);
  expect(fcGlobalMapPath("/r", byId)).toBe("/r/plugins/kubernetes.io/fc/volumeDevices/3600_A-3601");
});

test("a volume without a LUN or an identifier is refused", () => {
  expect(fcVolume(inline({ targetWWNs: ["5006"] }), "mapper")).toMatchObject({
    error: { message: "fc: no fc disk information found. failed to make a new mapper" },
  });
  expect(fcVolume(inline(undefined), "mounter")).toMatchObject({
    error: { message: "Spec does not reference a FibreChannel volume type" },
  });
});

test.each([{ wwids: ["3600", "../../../etc"] }, { targetWWNs: ["5006/.."], lun: 0 }])(
  "%j is refused: it would lead out of the plugin's folder",
  (fc) => {
    expect(fcVolume(inline(fc), "mounter")).toMatchObject({
      error: { message: expect.stringContaining("must not contain a slash") },
    });
  },
);

test.each([
  ["fc-0x5006-lun-0", true],
  ["pci-0000:41:00.0-fc-0x5006-lun-0", true],
  ["pci-fc-0x5006-lun-0", false],
  ["virt-fc-0x5006-lun-0", false],
  ["fc-0x5006-lun-01", false],
  ["fc-0x15006-lun-0", false],
])("%s is a link of the LUN: %s", (name, expected) => {
  const [link] = fcLinks(diskOf({ targetWWNs: ["5006"], lun: 0 }));
  expect([link?.folder, link?.matches(name)]).toEqual([byPathFolder, expected]);
});

test("a disk by its identifier has one link", () => {
  const [link] = fcLinks(diskOf({ wwids: ["3600 A"] }));
  expect(link?.folder).toBe(byIdFolder);
  expect(["scsi-3600_A", "scsi-3600_A-part1"].map((name) => link?.matches(name))).toEqual([
    true,
    false,
  ]);
});

test("the detach of a block volume looks by path for a LUN and by identifier otherwise", () => {
  expect([detachLink("5006-lun-0").folder, detachLink("3600_A").folder]).toEqual([
    byPathFolder,
    byIdFolder,
  ]);
  expect(detachLink("3600_A").matches("scsi-3600_A")).toBe(true);
});
