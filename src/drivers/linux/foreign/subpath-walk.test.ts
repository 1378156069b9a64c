import { mkdir, mkdtemp, readdir, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSubPath } from "./subpath-walk.ts";

let folder: string;
let volume: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-subpath-"));
  volume = join(folder, "volume");
  await mkdir(volume, { mode: 0o750 });
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function reached(subPath: string): Promise<string> {
  using entry = openSubPath(volume, subPath, { makesFolders: true });
  return await readlink(entry.path);
}

test("a folder that is missing is made with the mode of the volume", async () => {
  expect(await reached("a/b")).toBe(join(volume, "a/b"));
  expect((await stat(join(volume, "a"))).mode & 0o777).toBe(0o750);
  expect((await stat(join(volume, "a/b"))).mode & 0o777).toBe(0o750);
});

test("a key of a config map volume is reached through its links", async () => {
  await mkdir(join(volume, "..2024_01_01_00_00_00.1"));
  await writeFile(join(volume, "..2024_01_01_00_00_00.1/key"), "value");
  await symlink("..2024_01_01_00_00_00.1", join(volume, "..data"));
  await symlink("..data/key", join(volume, "key"));
  expect(await reached("key")).toBe(join(volume, "..2024_01_01_00_00_00.1/key"));
});

test("a link may lead up and elsewhere inside the volume, by an absolute path too", async () => {
  await mkdir(join(volume, "a/b"), { recursive: true });
  await mkdir(join(volume, "c"));
  await symlink("../../c", join(volume, "a/b/up"));
  await symlink(join(volume, "c"), join(volume, "absolute"));
  expect(await reached("a/b/up/d")).toBe(join(volume, "c/d"));
  expect(await reached("absolute")).toBe(join(volume, "c"));
  expect(await reached(".")).toBe(volume);
});

test.each([
  ["an absolute link", "/etc"],
  ["a link upwards", "../outside"],
  ["a link to the root by way of a process", "/proc/self/root"],
])("%s out of the volume is refused", async (_, target) => {
  await mkdir(join(folder, "outside"));
  await symlink(target, join(volume, "link"));
  await expect(reached("link")).rejects.toThrow("leads out of the volume");
  await expect(reached("link/below")).rejects.toThrow("leads out of the volume");
});

test("a link to itself and one to nothing are refused, and nothing is made for them", async () => {
  await symlink("loop", join(volume, "loop"));
  await symlink("missing/below", join(volume, "dangling"));
  await expect(reached("loop")).rejects.toThrow("too many links");
  await expect(reached("dangling")).rejects.toThrow("does not exist");
  expect(await readdir(volume)).toEqual(["dangling", "loop"]);
});

test("a file in the middle is refused", async () => {
  await writeFile(join(volume, "file"), "");
  await expect(reached("file/below")).rejects.toThrow("ENOTDIR");
});
