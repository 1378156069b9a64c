import { mkdtemp, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ManifestReader } from "./manifest-folder.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-manifests-"));
});

afterEach(() => rm(folder, { recursive: true }));

const inAnHour = (): number => Date.now() + 3_600_000;

test("a file that has rested unchanged is not read again; one that changed is, though its size and time are the same", async () => {
  const [a, b] = [join(folder, "a.yaml"), join(folder, "b.yaml")];
  await writeFile(a, "one");
  await utimes(a, 1, 1);
  await writeFile(b, "other");
  const reader = new ManifestReader(folder, "all", inAnHour);
  const before = (await reader.read()).files;
  await writeFile(a, "two");
  await utimes(a, 1, 1);
  const after = (await reader.read()).files;
  expect(after.map(({ text }) => text)).toEqual(["two", "other"]);
  expect(after[1]).toBe(before[1]);
  expect((await reader.read()).files[0]).toBe(after[0]);
});

test("a file that was moved into place is read, and one that is gone is forgotten", async () => {
  const a = join(folder, "a.yaml");
  await writeFile(a, "one");
  const reader = new ManifestReader(folder, "all", inAnHour);
  await reader.read();
  await writeFile(join(folder, ".b"), "two");
  await rename(join(folder, ".b"), a);
  expect((await reader.read()).files).toEqual([{ path: a, text: "two" }]);
  await rm(a);
  expect((await reader.read()).files).toEqual([]);
});

test("a file that changed just now is read again, since its times may not show the next change", async () => {
  await writeFile(join(folder, "a.yaml"), "one");
  const reader = new ManifestReader(folder, "all");
  const [before] = (await reader.read()).files;
  const [after] = (await reader.read()).files;
  expect(after).toEqual(before);
  expect(after).not.toBe(before);
});
