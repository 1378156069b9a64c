import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeTree } from "./tree-removal.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-removal-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test("a tree is deleted, links as links, and its neighbours stay", async () => {
  await mkdir(join(folder, "outside"));
  await writeFile(join(folder, "outside/file"), "");
  await mkdir(join(folder, "tree/a/b"), { recursive: true });
  await writeFile(join(folder, "tree/a/file"), "");
  await symlink(join(folder, "outside"), join(folder, "tree/a/link"));
  removeTree(join(folder, "tree"), () => undefined);
  expect(await readdir(folder)).toEqual(["outside"]);
  expect(await readdir(join(folder, "outside"))).toEqual(["file"]);
});

test("a link, a file and nothing at all are deleted just as well", async () => {
  await mkdir(join(folder, "outside"));
  await symlink("outside", join(folder, "link"));
  await writeFile(join(folder, "file"), "");
  for (const name of ["link", "file", "missing", "missing/below"]) {
    removeTree(join(folder, name), () => undefined);
  }
  expect(await readdir(folder)).toEqual(["outside"]);
});

test("a tree that is deeper than files may be open is deleted", async () => {
  const deep = Array.from({ length: 300 }, () => "d").join("/");
  await mkdir(join(folder, "tree", deep), { recursive: true });
  await writeFile(join(folder, "tree", deep, "file"), "");
  removeTree(join(folder, "tree"), () => undefined);
  expect(await readdir(folder)).toEqual([]);
});

test("names that are not UTF-8 are deleted too", async () => {
  const inside = Buffer.concat([Buffer.from(join(folder, "tree/")), Buffer.from([0x61, 0xff])]);
  await mkdir(join(folder, "tree"));
  await mkdir(inside);
  await writeFile(Buffer.concat([inside, Buffer.from("/"), Buffer.from([0xfe])]), "");
  removeTree(join(folder, "tree"), () => undefined);
  expect(await readdir(folder)).toEqual([]);
});
