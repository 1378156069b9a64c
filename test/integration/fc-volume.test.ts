import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { VolumeSpec } from "../../src/core/storage/volume-spec.ts";
import { createCsiDrivers } from "../../src/drivers/csi/csi-drivers.ts";
import { blockDevices } from "../../src/drivers/linux/block-devices.ts";
import { linuxCommands } from "../../src/drivers/linux/commands.ts";
import { linuxDeviceTree } from "../../src/drivers/linux/device-tree.ts";
import { hostFiles } from "../../src/drivers/linux/host-files.ts";
import { HungPaths } from "../../src/drivers/linux/hung-paths.ts";
import { linuxMounts } from "../../src/drivers/linux/mounts.ts";
import { payloadFiles } from "../../src/drivers/linux/payload-files.ts";
import { systemClock } from "../../src/drivers/linux/system-clock.ts";
import { pluginSockets } from "../../src/drivers/plugins/plugin-sockets.ts";
import type { DiskVolumeDeps } from "../../src/engine/volumes/disk-volume.ts";
import { fcPlugin } from "../../src/engine/volumes/fc/fc-plugin.ts";
import { mapBlockDevice, unmapBlockDevice } from "../../src/engine/volumes/map-block-device.ts";
import type { StoragePlugin } from "../../src/engine/volumes/storage-plugin.ts";
import { VolumeReturn } from "../../src/engine/volumes/volume-return.ts";
import { MetricsRegistry } from "../../src/lib/metrics-registry.ts";
import { testForeignFiles } from "../kit/foreign-files-program.ts";
import { buildPod } from "../kit/pods.ts";
import { silentLog } from "../kit/silent-log.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const never = new AbortController().signal;
const done = { ok: true, value: undefined };
const pod = buildPod();
const podUid = pod.metadata.uid;
/** One that no other run uses. */
const wwn = `5006${process.pid}`;
const link = `/dev/disk/by-path/fc-0x${wwn}-lun-0`;

let folder: string;
let disk: string;
let deps: DiskVolumeDeps;
let plugin: StoragePlugin;

beforeEach(() => {
  folder = makeTestFolder("fc-volume");
  const file = join(folder, "disk");
  writeFileSync(file, "");
  truncateSync(file, 32 * 2 ** 20);
  disk = execFileSync("/sbin/losetup", ["--find", "--show", file]).toString().trim();
  // As udev shows a disk of the network.
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(disk, link);
  const hungPaths = new HungPaths(Date.now);
  const commands = linuxCommands(hungPaths);
  deps = {
    rootFolder: join(folder, "root"),
    commands,
    devices: { ...linuxDeviceTree(commands), ...blockDevices },
    files: hostFiles,
    foreignFiles: testForeignFiles(hungPaths),
    mounts: linuxMounts(hungPaths, commands),
    events: { record: () => undefined },
    clock: systemClock,
    log: silentLog,
  };
  plugin = fcPlugin(deps);
});

afterEach(async () => {
  for (const { mountPoint } of await deps.mounts.listBelow(folder)) {
    await deps.mounts.unmount(mountPoint, never);
  }
  execFileSync("/sbin/losetup", ["--detach", disk]);
  rmSync(link);
  for (const empty of [dirname(link), "/dev/disk"]) removeIfEmpty(empty);
  rmSync(folder, { recursive: true });
});

function removeIfEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // udev or another run uses it.
  }
}

function claimed(volumeMode: string): VolumeSpec {
  const persistentVolume = {
    metadata: { name: "pv" },
    spec: { fc: { targetWWNs: [wwn], lun: 0 }, volumeMode },
  };
  return { source: "persistentVolume", persistentVolume, readOnly: false };
}

test("a disk is found, formatted, mounted for a pod and found again with its data", async () => {
  const spec = claimed("Filesystem");
  const { device } = plugin;
  if (device === undefined) throw new Error("disks are devices");
  expect(await device.waitForAttach({ spec, pod }, never)).toEqual({ ok: true, value: disk });
  const deviceMountPath = join(folder, `root/plugins/kubernetes.io/fc/${wwn}-lun-0`);
  expect(await device.mountPath(spec, never)).toEqual({ ok: true, value: deviceMountPath });
  const request = { spec, pod, devicePath: disk, deviceMountPath, fsGroup: 2000 };
  expect(await device.mountDevice(request, never)).toEqual(done);
  const podVolume = { ...request, isRemount: false, reconstructed: false };
  const path = join(folder, `root/pods/${podUid}/volumes/kubernetes.io~fc/pv`);
  expect(await plugin.setUp(podVolume, never)).toMatchObject({ ok: true, value: { path } });
  expect(statSync(path)).toMatchObject({ gid: 2000 });
  writeFileSync(join(path, "file"), "content");
  const target = { podUid, volumeSpecName: "pv" };
  expect(await plugin.reconstruct({ ...target, path }, never)).toMatchObject({
    value: { spec: { volume: { name: "pv", fc: { targetWWNs: [wwn], lun: 0 } } } },
  });
  expect(await plugin.tearDown(target, never)).toEqual(done);
  expect(await device.unmountDevice(deviceMountPath, never)).toEqual(done);
  expect(await deps.mounts.listBelow(folder)).toEqual([]);
  expect(await device.mountDevice(request, never)).toEqual(done);
  expect(readFileSync(join(deviceMountPath, "file"), "utf8")).toBe("content");
  expect(await device.unmountDevice(deviceMountPath, never)).toEqual(done);
});

test("a raw device of a pod is found again by its link", async () => {
  const { block } = plugin;
  if (block === undefined) throw new Error("disks have raw devices");
  const globalMapPath = join(folder, `root/plugins/kubernetes.io/fc/volumeDevices/${wwn}-lun-0`);
  const podMapPath = join(folder, `root/pods/${podUid}/volumeDevices/kubernetes.io~fc`);
  const map = { podUid, globalMapPath, podMapPath, name: "pv" };
  expect(await mapBlockDevice(deps, map, disk, never)).toEqual(done);
  const target = { podUid, volumeSpecName: "pv" };
  const path = join(podMapPath, "pv");
  const spec = claimed("Block");
  expect(await block.reconstruct({ ...target, path }, never)).toEqual({
    ok: true,
    value: { spec },
  });
  expect(await unmapBlockDevice(deps, map, never)).toEqual(done);
  const device = { ...target, globalMapPath, devicePath: disk };
  expect(await block.tearDownDevice(device, never)).toEqual(done);
  expect(statSync(globalMapPath, { throwIfNoEntry: false })).toBeUndefined();
});

test("a disk that an agent left mounted for no pod is given back, and what is not one stays", async () => {
  const spec = claimed("Filesystem");
  const { device } = plugin;
  if (device === undefined) throw new Error("disks are devices");
  const root = join(folder, "root/plugins/kubernetes.io/fc");
  const deviceMountPath = join(root, `${wwn}-lun-0`);
  const request = { spec, pod, devicePath: disk, deviceMountPath };
  expect(await device.mountDevice(request, never)).toEqual(done);
  writeFileSync(join(deviceMountPath, "file"), "content");
  const foreign = join(root, `${wwn}-lun-x`);
  mkdirSync(foreign);
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", foreign]);
  const end = new AbortController();
  const volumes = new VolumeReturn({
    ...deps,
    nodeName: "node",
    claimsFolder: join(folder, "claims"),
    csiDrivers: createCsiDrivers(),
    pluginSockets,
    payloadFiles,
    metrics: new MetricsRegistry({}),
    sha256: (text) => text,
    lifetime: end.signal,
  });
  try {
    await volumes.find(never);
    await volumes.giveBack(new Set(), never);
  } finally {
    end.abort();
  }
  expect(volumes.kept).toEqual([]);
  const left = await deps.mounts.listBelow(folder);
  expect(left.map(({ mountPoint }) => mountPoint)).toEqual([foreign]);
  expect(await device.mountDevice(request, never)).toEqual(done);
  expect(readFileSync(join(deviceMountPath, "file"), "utf8")).toBe("content");
});
