import { mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { logFiles } from "./log-files.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-log-files-"));
});
afterEach(() => rm(folder, { recursive: true }));

test("compresses a large log whole, with the mode it had", async () => {
  const path = join(folder, "0.log");
  const text = Array.from({ length: 200_000 }, (_, n) => `line ${n}`).join("\n");
  await writeFile(path, text, { mode: 0o640 });
  await logFiles.compress(path, `${path}.tmp`);
  expect(gunzipSync(await readFile(`${path}.tmp`)).toString() === text).toBe(true);
  expect((await stat(`${path}.tmp`)).mode & 0o777).toBe(0o640);
});

test("follows no link that a log was replaced by, and leaves nothing half written", async () => {
  const path = join(folder, "0.log");
  await symlink("/etc/hostname", path);
  await expect(logFiles.compress(path, `${path}.tmp`)).rejects.toThrow(/0\.log/);
  expect(await logFiles.list(folder)).toEqual(["0.log"]);
});

test("says of what is absent that it is absent", async () => {
  expect(await logFiles.sizeBytes(join(folder, "none"))).toBeUndefined();
  expect(await logFiles.list(join(folder, "none"))).toEqual([]);
  await logFiles.remove(join(folder, "none"));
});
