import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { makeTemporaryDataDir } from "./temporary-data-dir.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "temporary-"));
  vi.stubEnv("TMPDIR", folder);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

test("the folder has the manifests in it", async () => {
  const dataDir = await makeTemporaryDataDir("node-", [{ path: "a.json", text: "{}" }]);
  expect(await readFile(join(dataDir, "manifests/a.json"), "utf8")).toBe("{}");
});

test("a manifest that cannot be written leaves nothing, and the message says what to do", async () => {
  const files = ["a.json", "no/folder.json"].map((path) => ({ path, text: "{}" }));
  await expect(makeTemporaryDataDir("node-", files)).rejects.toThrow(
    /cannot make a folder for the node: ENOENT.*no\/folder\.json.*: set TMPDIR to a folder/,
  );
  expect(await readdir(folder)).toEqual([]);
});

test("a TMPDIR that is not there is named", async () => {
  vi.stubEnv("TMPDIR", join(folder, "absent"));
  await expect(makeTemporaryDataDir("node-")).rejects.toThrow(/ENOENT.*absent.*set TMPDIR/);
});
