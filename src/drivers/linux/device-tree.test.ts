import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { DeviceTree } from "../../ports/device-tree.ts";
import { linuxCommands } from "./commands.ts";
import { linuxDeviceTree } from "./device-tree.ts";
import { HungPaths } from "./hung-paths.ts";

const { signal } = new AbortController();

let folder: string;
let devices: DeviceTree;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-devices-"));
  devices = linuxDeviceTree(linuxCommands(new HungPaths(() => 0)));
});

afterEach(() => rm(folder, { recursive: true }));

test("names are listed in order, and an absent folder is undefined", async () => {
  for (const name of ["sdb", "sda"]) await writeFile(join(folder, name), "");
  expect(await devices.list(folder)).toEqual(["sda", "sdb"]);
  expect(await devices.list(join(folder, "none"))).toBeUndefined();
});

test("a link that leads nowhere exists and names what is missing", async () => {
  await mkdir(join(folder, "by-id"));
  const link = join(folder, "by-id/scsi-1");
  await symlink("../sda", link);
  expect(await devices.exists(link)).toBe(true);
  const missing = join(folder, "sda");
  expect(await devices.resolve(link)).toEqual({
    ok: false,
    error: `lstat ${missing}: no such file or directory`,
  });
  await writeFile(missing, "");
  expect(await devices.resolve(link)).toEqual({ ok: true, value: missing });
});

test("only what is there is read and written", async () => {
  const scan = join(folder, "scan");
  expect(await devices.write(scan, "- - -", signal)).toEqual({
    ok: false,
    error: `open ${scan}: no such file or directory`,
  });
  expect(await devices.readText(scan)).toBeUndefined();
  await writeFile(scan, "");
  expect(await devices.write(scan, "- - -", signal)).toEqual({ ok: true, value: undefined });
  expect(await readFile(scan, "utf8")).toBe("- - -");
  expect(await devices.readText(scan)).toBe("- - -");
});

test("a write that the kernel refuses says so", async () => {
  const result = await devices.write("/proc/version", "1", signal);
  expect(result).toMatchObject({ ok: false });
});
