import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../../../test/kit/silent-log.ts";
import { hostFiles } from "../../../drivers/linux/host-files.ts";
import { SimMounts } from "../../../drivers/sim/sim-mounts.ts";
import { findCsiDevices } from "./csi-found-devices.ts";

let rootFolder: string;
let csi: string;
const mounted = new Set<string>();

class TestMounts extends SimMounts {
  override async isMountPoint(path: string): Promise<boolean> {
    return mounted.has(path);
  }
}

beforeEach(() => {
  rootFolder = mkdtempSync(join(tmpdir(), "berth-csi-found-"));
  csi = join(rootFolder, "plugins/kubernetes.io/csi");
  mounted.clear();
});

afterEach(() => rmSync(rootFolder, { recursive: true }));

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function find(): Promise<readonly (readonly [string, unknown])[]> {
  const names = { rootFolder, nodeName: "node", sha256 };
  const deps = { names, files: hostFiles, mounts: new TestMounts(), log: silentLog };
  const found = await findCsiDevices(deps);
  return found.map(({ path, volume }) => [
    path.slice(csi.length + 1),
    volume.ok && volume.value.source === "persistentVolume"
      ? volume.value.persistentVolume.spec
      : "unknown",
  ]);
}

function write(folder: string, text: string): void {
  mkdirSync(join(csi, folder), { recursive: true });
  writeFileSync(join(csi, folder, "vol_data.json"), text);
}

test("nothing is found on a node without volumes", async () => {
  expect(await find()).toEqual([]);
});

test("a staged volume is known by its record, mounted or not, and a raw device by its own", async () => {
  const folder = `a.example.com/${sha256("vol-1")}`;
  write(folder, '{"driverName":"a.example.com","volumeHandle":"vol-1"}\n');
  write(
    "volumeDevices/pv-2/data",
    '{"driverName":"b.example.com","specVolID":"pv-2","volumeHandle":"vol-2"}\n',
  );
  mkdirSync(join(csi, "volumeDevices/staging/pv-2"), { recursive: true });
  expect(await find()).toEqual([
    [
      `${folder}/globalmount`,
      { csi: { driver: "a.example.com", volumeHandle: "vol-1" }, volumeMode: "Filesystem" },
    ],
    [
      "volumeDevices/pv-2",
      { csi: { driver: "b.example.com", volumeHandle: "vol-2" }, volumeMode: "Block" },
    ],
  ]);
});

test("one with a record that cannot be read, of another place or missing is unknown", async () => {
  write("a.example.com/broken", "{");
  write("a.example.com/moved", '{"driverName":"a.example.com","volumeHandle":"vol-1"}');
  mkdirSync(join(csi, "a.example.com/mounted"));
  mounted.add(join(csi, "a.example.com/mounted/globalmount"));
  mkdirSync(join(csi, "a.example.com/empty/globalmount"), { recursive: true });
  writeFileSync(join(csi, "file"), "");
  expect(await find()).toEqual([
    ["a.example.com/broken/globalmount", "unknown"],
    ["a.example.com/mounted/globalmount", "unknown"],
    ["a.example.com/moved/globalmount", "unknown"],
  ]);
});
