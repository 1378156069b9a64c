import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hostFiles } from "../../../drivers/linux/host-files.ts";
import { SimMounts } from "../../../drivers/sim/sim-mounts.ts";
import {
  ensureMountFolder,
  loadVolumeData,
  removeMountFolder,
  saveVolumeData,
} from "./csi-volume-files.ts";

let folder: string;
let mountPath: string;
const mounted = new Set<string>();

class TestMounts extends SimMounts {
  override async isMountPoint(path: string): Promise<boolean> {
    return mounted.has(path);
  }
}

const deps = { files: hostFiles, mounts: new TestMounts() };

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "berth-csi-files-")), "volume");
  mountPath = join(folder, "globalmount");
  mkdirSync(folder);
  mounted.clear();
});

afterEach(() => rmSync(join(folder, ".."), { recursive: true }));

test("a record is read again as it was saved", async () => {
  const data = { driverName: "a.example.com", volumeHandle: "vol-1" };
  expect(await saveVolumeData(deps, folder, data)).toBeUndefined();
  expect(await loadVolumeData(deps, folder)).toEqual({ ok: true, value: data });
});

test("nothing is removed as long as something is mounted", async () => {
  await saveVolumeData(deps, folder, {});
  mkdirSync(mountPath);
  mounted.add(mountPath);
  expect(await removeMountFolder(deps, mountPath)).toEqual({ ok: true, value: undefined });
  expect(existsSync(join(folder, "vol_data.json"))).toBe(true);
  mounted.clear();
  expect(await removeMountFolder(deps, mountPath)).toEqual({ ok: true, value: undefined });
  expect(existsSync(folder)).toBe(false);
});

test("files in a folder that is not mounted are kept, and named", async () => {
  mkdirSync(mountPath);
  writeFileSync(join(mountPath, "data"), "of a user");
  const removed = await removeMountFolder(deps, mountPath);
  expect(removed).toMatchObject({
    ok: false,
    error: expect.stringContaining(`kubernetes.io/csi: failed to remove dir [${mountPath}]`),
  });
  expect(existsSync(join(mountPath, "data"))).toBe(true);
});

test("a record that an agent had begun to write when it was killed does not keep the folder", async () => {
  writeFileSync(join(folder, "vol_data.json.123-1.tmp"), "{");
  expect(await removeMountFolder(deps, mountPath)).toEqual({ ok: true, value: undefined });
  expect(existsSync(folder)).toBe(false);
});

test("the root of a mounted volume keeps its permissions", async () => {
  mkdirSync(mountPath);
  chmodSync(mountPath, 0o777);
  mounted.add(mountPath);
  expect(await ensureMountFolder(deps, mountPath)).toBeUndefined();
  expect(statSync(mountPath).mode & 0o777).toBe(0o777);
});
