import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { podUid } from "../../../model/ids.ts";
import type { VolumeSpec } from "../volume-spec.ts";
import {
  csiAttachmentName,
  csiBlockDataDirectory,
  csiBlockPublishDirectory,
  csiBlockPublishPath,
  csiBlockStagingPath,
  csiDeviceMountPath,
  csiEphemeralHandle,
  csiGlobalMapPath,
  csiMountFolder,
  csiMountPath,
  csiPodVolumeDirectory,
} from "./csi-paths.ts";

const root = "/var/lib/kubelet";
const uid = podUid("uid-1");
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const devices = `${root}/plugins/kubernetes.io/csi/volumeDevices`;

test("a volume's name is escaped in the pod's folder", () => {
  const folder = `${root}/pods/uid-1/volumes/kubernetes.io~csi/a~b`;
  expect(csiPodVolumeDirectory(root, uid, "a/b")).toBe(folder);
  expect(csiMountPath(root, uid, "a/b")).toBe(`${folder}/${csiMountFolder}`);
});

test("a block volume's name is escaped where it is mapped and recorded, and not where it is staged and published", () => {
  expect(csiGlobalMapPath(root, "a/b")).toBe(`${devices}/a~b/dev`);
  expect(csiBlockDataDirectory(root, "a/b")).toBe(`${devices}/a~b/data`);
  expect(csiBlockStagingPath(root, "a/b")).toBe(`${devices}/staging/a/b`);
  expect(csiBlockPublishDirectory(root, "a/b")).toBe(`${devices}/publish/a/b`);
  expect(csiBlockPublishPath(root, "a/b", uid)).toBe(`${devices}/publish/a/b/uid-1`);
});

test("handles and attachments are named by the hash of what identifies them", () => {
  expect(csiEphemeralHandle(uid, "data", sha256)).toBe(`csi-${sha256("uid-1data")}`);
  const volume = { handle: "h", driver: "d", nodeName: "n" };
  expect(csiAttachmentName(volume, sha256)).toBe(`csi-${sha256("hdn")}`);
});

test("a volume without a handle cannot be staged", () => {
  const spec: VolumeSpec = {
    source: "persistentVolume",
    persistentVolume: { spec: { csi: { driver: "d", volumeHandle: "" } } },
    readOnly: false,
  };
  expect(csiDeviceMountPath(root, spec, sha256)).toMatchObject({
    error: { message: expect.stringContaining("volume handle is empty") },
  });
});
