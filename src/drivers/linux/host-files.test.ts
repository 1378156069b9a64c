import { mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hostFiles } from "./host-files.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-files-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test("a file is replaced whole, with its mode, and nothing is left beside it", async () => {
  const path = join(folder, "state.json");
  await hostFiles.writeFile(path, "first", 0o600);
  await hostFiles.writeFile(path, "second", 0o640);
  expect(await hostFiles.readText(path)).toBe("second");
  expect((await stat(path)).mode & 0o777).toBe(0o640);
  expect(await hostFiles.list(folder)).toEqual(["state.json"]);
});

test("writing onto a link replaces the link and leaves its target alone", async () => {
  const target = join(folder, "target");
  const path = join(folder, "link");
  await writeFile(target, "untouched");
  await symlink(target, path);
  await hostFiles.writeFile(path, "new", 0o600);
  expect(await readFile(target, "utf8")).toBe("untouched");
  expect(await readFile(path, "utf8")).toBe("new");
});

test("reading and appending refuse a link", async () => {
  const path = join(folder, "link");
  await writeFile(join(folder, "target"), "secret");
  await symlink("target", path);
  await expect(hostFiles.readText(path)).rejects.toThrow("ELOOP");
  await expect(hostFiles.readTail(path, 10)).rejects.toThrow("ELOOP");
  await expect(hostFiles.appendLine(path, "x", 0o600)).rejects.toThrow("ELOOP");
});

test("only the end of a file is read", async () => {
  const path = join(folder, "log");
  await hostFiles.appendLine(path, "one", 0o600);
  await hostFiles.appendLine(path, "two", 0o600);
  expect(Buffer.from((await hostFiles.readTail(path, 5)) ?? []).toString()).toBe("\ntwo\n");
  expect(Buffer.from((await hostFiles.readTail(path, 99)) ?? []).toString()).toBe("one\ntwo\n");
});

test("what is absent reads as absent and is removed without complaint", async () => {
  const path = join(folder, "absent");
  expect(await hostFiles.readText(path)).toBeUndefined();
  expect(await hostFiles.readTail(path, 1)).toBeUndefined();
  expect(await hostFiles.list(path)).toEqual([]);
  await hostFiles.removeFile(path);
});

test("a folder in a file's place is refused, not waited for", async () => {
  await expect(hostFiles.readText(folder)).rejects.toThrow("not a regular file");
  const path = join(folder, "file");
  await writeFile(path, "");
  await expect(hostFiles.ensureFolder(path, 0o755)).rejects.toThrow("EEXIST");
});

test("a symlink replaces what is there", async () => {
  const path = join(folder, "current");
  await hostFiles.symlink("a", path);
  await hostFiles.symlink("b", path);
  expect(await readlink(path)).toBe("b");
});

test("folders and files get their mode whatever the umask", async () => {
  const inner = join(folder, "a", "b");
  await hostFiles.ensureFolder(inner, 0o777);
  const path = join(inner, "log");
  await hostFiles.writeBriefly(path, "", 0o666);
  expect((await stat(inner)).mode & 0o777).toBe(0o777);
  expect((await stat(path)).mode & 0o777).toBe(0o666);
});

test("a file that is overwritten stays the same file, shorter or longer", async () => {
  const path = join(folder, "hosts");
  await hostFiles.overwrite(path, "first", 0o644);
  const { ino, mode } = await stat(path);
  expect(mode & 0o777).toBe(0o644);
  for (const text of ["a longer second", "3", ""]) {
    await hostFiles.overwrite(path, text, 0o644);
    expect(await hostFiles.readText(path)).toBe(text);
    expect((await stat(path)).ino).toBe(ino);
  }
});

test("a link is not overwritten, nor what it leads to", async () => {
  const target = join(folder, "target");
  await writeFile(target, "precious");
  await symlink(target, join(folder, "link"));
  await expect(hostFiles.overwrite(join(folder, "link"), "x", 0o644)).rejects.toThrow("ELOOP");
  expect(await hostFiles.readText(target)).toBe("precious");
});

test("a file or an empty folder is removed, and nothing that holds something", async () => {
  const path = join(folder, "entry");
  await hostFiles.ensureFolder(path, 0o750);
  await writeFile(join(path, "file"), "");
  await expect(hostFiles.removeEntry(path)).rejects.toThrow(`remove ${path}: directory not empty`);
  await hostFiles.removeEntry(join(path, "file"));
  await hostFiles.removeEntry(path);
  await hostFiles.removeEntry(path);
  expect(await hostFiles.list(folder)).toEqual([]);
});
