import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeTree } from "../drivers/linux/foreign/tree-removal.ts";
import { SetupError } from "../lib/setup-error.ts";
import { hasClaimFolders, removeClaimFolders } from "./claim-folders.ts";

let base: string;
let volumes: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "berth-claims-"));
  volumes = join(base, "volumes");
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const foreignFiles = {
  removeTree: async (path: string) => removeTree(path, () => undefined),
};
const { signal } = new AbortController();

function remove(): Promise<void> {
  return removeClaimFolders(volumes, foreignFiles, signal);
}

function makeFolders(): void {
  mkdirSync(join(volumes, "default_data", "deep"), { recursive: true });
  writeFileSync(join(volumes, "default_data", "deep", "file"), "x");
  writeFileSync(join(volumes, ".berth"), "");
}

test("what claims hold is removed with the folder, and links are not followed", async () => {
  makeFolders();
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside", "precious"), "x");
  symlinkSync(join(base, "outside"), join(volumes, "default_link"));
  symlinkSync(join(base, "outside"), join(volumes, "default_data", "deep", "link"));
  expect(await hasClaimFolders(volumes)).toBe(true);
  await remove();
  expect(await hasClaimFolders(volumes)).toBe(false);
  expect(readdirSync(base)).toEqual(["outside"]);
  expect(readdirSync(join(base, "outside"))).toEqual(["precious"]);
  await remove();
});

test("a folder that no agent made is left alone", async () => {
  mkdirSync(join(volumes, "photos"), { recursive: true });
  await expect(remove()).rejects.toThrow(SetupError);
  expect(readdirSync(volumes)).toEqual(["photos"]);
});

test("a link to a folder of claims is left alone, and what it leads to", async () => {
  makeFolders();
  const elsewhere = volumes;
  volumes = join(base, "link");
  symlinkSync(elsewhere, volumes);
  await expect(remove()).rejects.toThrow("is not a folder");
  expect(readdirSync(elsewhere)).toEqual([".berth", "default_data"]);
});

test("the removal can be repeated after it failed halfway", async () => {
  makeFolders();
  mkdirSync(join(volumes, "ns_other"));
  let isFailing = true;
  const failing = {
    removeTree: async (path: string) => {
      if (isFailing && path.endsWith("ns_other")) throw new Error("is a mount point");
      removeTree(path, () => undefined);
    },
  };
  await expect(removeClaimFolders(volumes, failing, signal)).rejects.toThrow("is a mount point");
  expect(readdirSync(volumes)).toEqual([".berth", "ns_other"]);
  isFailing = false;
  await removeClaimFolders(volumes, failing, signal);
  expect(readdirSync(base)).toEqual([]);
});
