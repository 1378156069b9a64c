import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { linuxCommands } from "../../src/drivers/linux/commands.ts";
import { hostFiles } from "../../src/drivers/linux/host-files.ts";
import { HungPaths } from "../../src/drivers/linux/hung-paths.ts";
import { linuxMounts } from "../../src/drivers/linux/mounts.ts";
import { systemClock } from "../../src/drivers/linux/system-clock.ts";
import { formatAndMount } from "../../src/engine/volumes/format-and-mount.ts";
import { localPlugin } from "../../src/engine/volumes/local/local-plugin.ts";
import { cleanUpMountPoint, findMountReferences } from "../../src/engine/volumes/mount-points.ts";
import { needsResize, resizeFileSystem } from "../../src/engine/volumes/resize-file-system.ts";
import { splitMountOptions } from "../../src/lib/mount-info.ts";
import { testForeignFiles } from "../kit/foreign-files-program.ts";
import { buildPod } from "../kit/pods.ts";
import { HungMount } from "./support/hung-mount.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const never = new AbortController().signal;
const mebibyte = 2 ** 20;
const done = { ok: true, value: undefined };

const hungPaths = new HungPaths(Date.now);
const commands = linuxCommands(hungPaths);
const mounts = linuxMounts(hungPaths, commands);
const foreignFiles = testForeignFiles(hungPaths);
const deps = { commands, mounts, foreignFiles, files: hostFiles };

let folder: string;
let target: string;
let loops: string[];

beforeEach(() => {
  folder = makeTestFolder("volume-mounts");
  target = join(folder, "mounted");
  mkdirSync(target);
  loops = [];
});

afterEach(async () => {
  for (const { mountPoint } of await mounts.listBelow(folder))
    await mounts.unmount(mountPoint, never);
  for (const loop of loops) execFileSync("/sbin/losetup", ["--detach", loop]);
  rmSync(folder, { recursive: true });
});

/** A block device with nothing on it. */
function newDisk(mebibytes: number): { readonly device: string; readonly file: string } {
  const file = join(folder, `disk-${loops.length}`);
  writeFileSync(file, "");
  truncateSync(file, mebibytes * mebibyte);
  const device = execFileSync("/sbin/losetup", ["--find", "--show", file]).toString().trim();
  loops.push(device);
  return { device, file };
}

function diskMount(device: string, fileSystem: string, options: readonly string[] = []) {
  return formatAndMount(deps, { device, target, fileSystem, options }, never);
}

test("a bind shows the same files, and takes over what its source forbids", async () => {
  const source = join(folder, "source");
  mkdirSync(source);
  execFileSync("mount", ["-t", "tmpfs", "-o", "nosuid,nodev,noexec", "tmpfs", source]);
  writeFileSync(join(source, "file"), "content");
  const request = { source, target, fileSystem: "", options: ["bind", "ro"] };
  expect(await mounts.mount({ ...request, withoutSystemd: true }, never)).toEqual(done);
  expect(readFileSync(join(target, "file"), "utf8")).toBe("content");
  expect(() => writeFileSync(join(target, "other"), "")).toThrow("EROFS");
  writeFileSync(join(source, "other"), "");
  const [bound] = await mounts.listBelow(target);
  const options = splitMountOptions(bound?.options ?? "");
  expect(options).toEqual(expect.arrayContaining(["ro", "nosuid", "nodev", "noexec"]));
  const references = await findMountReferences(deps, source, never);
  expect(references).toEqual({ ok: true, value: [target] });
  expect(await cleanUpMountPoint(deps, target, {}, never)).toEqual(done);
  expect(await mounts.isMountPoint(target)).toBe(false);
  expect(statSync(target, { throwIfNoEntry: false })).toBeUndefined();
  expect(readFileSync(join(source, "file"), "utf8")).toBe("content");
});

test.each(["ext4", "ext3"])(
  "an empty disk is formatted as %s once, and keeps its files",
  async (fileSystem) => {
    const { device } = newDisk(32);
    expect(await diskMount(device, fileSystem)).toEqual(done);
    writeFileSync(join(target, "file"), "content");
    expect(await mounts.unmountVolume(target, {}, never)).toEqual(done);
    expect(await diskMount(device, fileSystem)).toEqual(done);
    expect(readFileSync(join(target, "file"), "utf8")).toBe("content");
    const [mounted] = await mounts.listBelow(target);
    expect(mounted).toMatchObject({ source: device, fileSystem });
  },
);

test("an empty disk that is to be read only is refused, and not formatted", async () => {
  const { device, file } = newDisk(16);
  const refused = await diskMount(device, "ext4", ["ro"]);
  expect(refused).toMatchObject({ ok: false, error: { type: "UnformattedReadOnly" } });
  expect(readFileSync(file).every((byte) => byte === 0)).toBe(true);
});

test("a disk with another file system is refused with its files unharmed", async () => {
  const { device } = newDisk(32);
  expect(await diskMount(device, "ext4")).toEqual(done);
  writeFileSync(join(target, "file"), "content");
  expect(await mounts.unmountVolume(target, {}, never)).toEqual(done);
  const refused = await diskMount(device, "xfs");
  expect(refused).toMatchObject({ ok: false, error: { type: "FilesystemMismatch" } });
  expect(await diskMount(device, "ext4")).toEqual(done);
  expect(readFileSync(join(target, "file"), "utf8")).toBe("content");
});

test("a disk with partitions is refused, and stays as it was", async () => {
  const { device, file } = newDisk(16);
  // The mark of a DOS partition table, with one partition.
  const table = Buffer.alloc(512);
  table.set([0x00, 0x00, 0x02, 0x00, 0x83, 0x03, 0x20, 0x00, 1, 0, 0, 0, 0xff, 0x0f], 446);
  table.set([0x55, 0xaa], 510);
  writeFileSync(device, table);
  const refused = await diskMount(device, "ext4");
  expect(refused).toMatchObject({ ok: false, error: { type: "FilesystemMismatch" } });
  expect(readFileSync(file).subarray(0, 512)).toEqual(table);
});

test("a file system grows with its device", async () => {
  const { device, file } = newDisk(32);
  execFileSync("/sbin/mkfs.ext4", ["-q", device]);
  truncateSync(file, 64 * mebibyte);
  execFileSync("/sbin/losetup", ["--set-capacity", device]);
  const disk = { devicePath: device, deviceMountPath: target };
  expect(await needsResize(commands, disk, never)).toEqual({ ok: true, value: true });
  // Before it is mounted: afterwards the kernel asks for a right that not every machine of tests grants.
  expect(await resizeFileSystem(commands, disk, never)).toEqual({ ok: true, value: true });
  expect(await diskMount(device, "ext4")).toEqual(done);
  const { blocks, bsize } = statfsSync(target);
  expect(blocks * bsize).toBeGreaterThan(40 * mebibyte);
});

test("a volume that is in use stays mounted, and the error says so", async () => {
  const { device } = newDisk(16);
  expect(await diskMount(device, "ext4")).toEqual(done);
  mkdirSync(join(target, "inner"));
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", join(target, "inner")]);
  const refused = await mounts.unmountVolume(target, {}, never);
  expect(refused).toMatchObject({ ok: false, error: expect.stringContaining("busy") });
  expect(await mounts.isMountPoint(target)).toBe(true);
});

test("an unmount of what is not mounted is fine", async () => {
  expect(await mounts.ignoresUnmounted(never)).toBe(true);
  expect(await mounts.unmountVolume(target, {}, never)).toEqual(done);
});

test("a volume whose server does not answer is unmounted by force", async () => {
  await using hung = await HungMount.at(target);
  expect(hung.isServed).toBe(true);
  // The first umount(8) hangs until the second has cut the connection, and keeps the mount busy so long.
  const cleanUp = () => cleanUpMountPoint(deps, target, { forceAfterMs: 1000 }, never);
  await expect.poll(cleanUp, { timeout: 60_000 }).toEqual(done);
  expect(await mounts.isMountPoint(target)).toBe(false);
});

test("a disk that is mounted where this process cannot see it is held", async () => {
  const { device } = newDisk(16);
  execFileSync("/sbin/mkfs.ext4", ["-q", device]);
  expect(await foreignFiles.isDeviceHeld(device, never)).toBe(false);
  const script = 'mount "$0" "$1" && echo mounted && read -r _';
  const other = spawn("unshare", ["--mount", "sh", "-c", script, device, target], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(other, "exit");
  await once(other.stdout, "data");
  expect((await mounts.listBelow(folder)).map(({ mountPoint }) => mountPoint)).toEqual([]);
  expect(await foreignFiles.isDeviceHeld(device, never)).toBe(true);
  other.stdin.end();
  await ended;
  await expect.poll(() => foreignFiles.isDeviceHeld(device, never)).toBe(false);
  expect(await foreignFiles.isDeviceHeld(folder, never)).toBe(false);
});

test("a local disk is mounted once, bound for a pod with its group, and given back", async () => {
  const { device } = newDisk(32);
  const rootFolder = join(folder, "root");
  mkdirSync(rootFolder);
  const events = { record: () => undefined };
  const plugin = localPlugin({ ...deps, rootFolder, events, clock: systemClock });
  const pod = buildPod({ metadata: { name: "web", namespace: "default", uid: "uid-1" } });
  const persistentVolume = { metadata: { name: "pv-1" }, spec: { local: { path: device } } };
  const spec = { source: "persistentVolume", persistentVolume, readOnly: false } as const;
  const deviceMountPath = join(rootFolder, "plugins/kubernetes.io/local-volume/mounts/pv-1");
  expect(await plugin.device?.mountPath(spec, never)).toEqual({ ok: true, value: deviceMountPath });
  const request = {
    spec,
    pod,
    devicePath: "",
    deviceMountPath,
    fsGroup: 4711,
    isRemount: false,
    reconstructed: false,
  };
  expect(await plugin.device?.mountDevice(request, never)).toEqual(done);
  const path = join(rootFolder, "pods/uid-1/volumes/kubernetes.io~local-volume/pv-1");
  expect(await plugin.setUp(request, never)).toMatchObject({ ok: true, value: { path } });
  writeFileSync(join(path, "file"), "content");
  expect(readFileSync(join(deviceMountPath, "file"), "utf8")).toBe("content");
  expect(statSync(path)).toMatchObject({ gid: 4711 });
  const found = { podUid: pod.metadata.uid, volumeSpecName: "pv-1", path };
  expect(await plugin.reconstruct(found, never)).toMatchObject({
    ok: true,
    value: { spec: { persistentVolume: { spec: { local: { path: device } } } } },
  });
  expect(await plugin.tearDown(found, never)).toEqual(done);
  expect(await plugin.device?.unmountDevice(deviceMountPath, never)).toEqual(done);
  expect(await mounts.listBelow(rootFolder)).toEqual([]);
});
