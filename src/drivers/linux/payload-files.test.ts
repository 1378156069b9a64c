import { deepEqual } from "node:assert/strict";
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { PayloadPlan } from "../../model/volume-payload.ts";
import { payloadFiles } from "./payload-files.ts";

let folder: string;
let volume: string;
let outside: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-payload-"));
  volume = join(folder, "volume");
  outside = join(folder, "outside");
  await mkdir(volume);
  await mkdir(outside);
  await writeFile(join(outside, "precious"), "untouched");
});

afterEach(async () => {
  deepEqual(await readdir(outside), ["precious"]);
  deepEqual(await readFile(join(outside, "precious"), "utf8"), "untouched");
  await rm(folder, { recursive: true, force: true });
});

function planOf(files: Readonly<Record<string, string>>): PayloadPlan {
  const entries = Object.entries(files);
  return {
    content: new Map(
      entries.map(([path, text]) => [path, { data: Buffer.from(text), mode: 0o644 }]),
    ),
    links: new Map(entries.map(([path]) => [path.split("/")[0] ?? "", undefined])),
    removedNames: [],
  };
}

function publish(files: Readonly<Record<string, string>>, removedNames: readonly string[] = []) {
  return payloadFiles.publishPayload(volume, { ...planOf(files), removedNames }, undefined);
}

async function shown(name: string): Promise<string> {
  return readFile(join(volume, name), "utf8");
}

test("a published volume is read back as it was written", async () => {
  expect(await payloadFiles.readPayload(volume)).toBeUndefined();
  expect(await payloadFiles.readPayload(join(folder, "missing"))).toBeUndefined();
  await publish({ a: "one", "d/b": "two" });
  const published = await payloadFiles.readPayload(volume);
  const texts = [...(published?.entries ?? [])].map(([path, data]) => [path, data?.toString()]);
  expect(Object.fromEntries(texts)).toEqual({ a: "one", d: undefined, "d/b": "two" });
});

test("a planted data link that leads out is replaced, and what it leads to stays", async () => {
  await symlink(outside, join(volume, "..data"));
  expect(await payloadFiles.readPayload(volume)).toBeUndefined();
  await publish({ a: "one" });
  expect(await shown("a")).toBe("one");
  expect(await readlink(join(volume, "..data"))).toMatch(/^\.\.\d{4}_/);
});

test("a planted folder in the place of the data link is replaced", async () => {
  await mkdir(join(volume, "..data"));
  await symlink(outside, join(volume, "..data/out"));
  await publish({ a: "one" });
  expect(await shown("a")).toBe("one");
});

test("planted links with the names of files are replaced and never written through", async () => {
  await publish({ a: "one", b: "two" });
  await unlink(join(volume, "a"));
  await symlink(join(outside, "precious"), join(volume, "a"));
  const content = join(volume, await readlink(join(volume, "..data")));
  await unlink(join(content, "b"));
  await symlink(join(outside, "precious"), join(content, "b"));
  const published = await payloadFiles.readPayload(volume);
  expect(published?.entries.get("b")).toBeUndefined();
  await publish({ a: "three", b: "four" });
  expect([await shown("a"), await shown("b")]).toEqual(["three", "four"]);
});

test("a planted folder link in old content is removed as a link", async () => {
  await publish({ "d/a": "one" });
  const content = join(volume, await readlink(join(volume, "..data")));
  await symlink(outside, join(content, "d/out"));
  await publish({ "d/a": "two" });
  expect(await shown("d/a")).toBe("two");
  expect(await readdir(volume)).not.toContain(content.split("/").at(-1));
});

test("what a stopped agent left behind is cleared away", async () => {
  await publish({ a: "one" });
  await symlink("..2001_01_01_00_00_00.1", join(volume, "..data_tmp"));
  await mkdir(join(volume, "..2001_01_01_00_00_00.1"));
  await publish({ a: "two" });
  expect(await shown("a")).toBe("two");
  expect((await readdir(volume)).length).toBe(3);
});

test("a name that is gone is removed only if it is a link", async () => {
  await publish({ a: "one", nested: "two" });
  await unlink(join(volume, "nested"));
  await mkdir(join(volume, "nested"));
  await publish({ b: "three" }, ["a", "nested", "missing"]);
  expect((await readdir(volume)).filter((name) => !name.startsWith(".."))).toEqual(["b", "nested"]);
});

test("a volume that cannot be published keeps what it shows", async () => {
  await publish({ a: "one" });
  const before = await readdir(volume);
  await expect(publish({ a: "two", "a/b": "three" })).rejects.toThrow("ENOTDIR");
  expect(await shown("a")).toBe("one");
  expect(await readdir(volume)).toEqual(before);
});

test("folders for other volumes are made without following a link", async () => {
  await symlink(outside, join(volume, "link"));
  await payloadFiles.makeFolders(volume, ["a/b", "c"]);
  expect((await lstat(join(volume, "a/b"))).isDirectory()).toBe(true);
  await expect(payloadFiles.makeFolders(volume, ["link/b"])).rejects.toThrow(/ENOTDIR|ELOOP/);
});
