import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { testForeignFiles } from "../../../test/kit/foreign-files-program.ts";

const files = testForeignFiles();
const never = new AbortController().signal;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-foreign-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("paths that a pod names are made, and seen as what they are", async () => {
  await files.makeFolder(join(folder, "a/b"), never);
  await files.makeFile(join(folder, "a/file"), never);
  symlinkSync("b", join(folder, "a/link"));
  const kinds = ["b", "file", "link", "none"].map((name) =>
    files.kindOf(join(folder, "a", name), never),
  );
  expect(await Promise.all(kinds)).toEqual(["directory", "file", "directory", undefined]);
});

test("a path is resolved through its links, and what cannot be seen has none", async () => {
  await files.makeFolder(join(folder, "a"), never);
  symlinkSync("a", join(folder, "link"));
  symlinkSync("none", join(folder, "dangling"));
  const real = ["link", "dangling", "none"].map((name) =>
    files.realPath(join(folder, name), never),
  );
  expect(await Promise.all(real)).toEqual([join(folder, "a"), undefined, undefined]);
});

test("files of volumes are read up to a limit, and not by links that lead out", async () => {
  writeFileSync(join(folder, "file"), "0123456789");
  symlinkSync("/etc/passwd", join(folder, "link"));
  const read = (path: string, maxBytes: number) =>
    files.readFile({ folder, path, maxBytes }, never);
  expect(String(await read("file", 10))).toBe("0123456789");
  expect(await read("file", 9)).toBeUndefined();
  await expect(read("link", 10)).rejects.toThrow("leads out of the volume");
  expect(String(await files.readEnd(join(folder, "file"), 3, never))).toBe("789");
  expect(await files.readEnd(join(folder, "none"), 3, never)).toBeUndefined();
  await expect(files.readEnd(folder, 3, never)).rejects.toThrow("not a regular file");
});

test("a pipe without a writer is not waited for", async () => {
  execFileSync("mkfifo", [join(folder, "pipe")]);
  const reading = files.readEnd(join(folder, "pipe"), 10, never);
  await expect(reading).rejects.toThrow("not a regular file");
});

test("what a volume takes is measured, and nothing where there is none", async () => {
  writeFileSync(join(folder, "file"), Buffer.alloc(100_000, 1));
  const measured = await files.measure(folder, "files", never);
  expect(measured?.use.inodesUsed).toBe(2);
  expect(measured?.room.capacityBytes).toBeGreaterThan(100_000);
  expect(await files.measure(join(folder, "none"), "files", never)).toBeUndefined();
});

test("a group gets all files of a volume, however deep", async () => {
  await files.makeFolder(join(folder, "a/b"), never);
  writeFileSync(join(folder, "a/b/file"), "", { mode: 0o600 });
  const ownership = { groupId: 1234, readOnly: false, onlyOnMismatch: false };
  await files.changeOwnership(folder, ownership, never);
  const found = ["", "a", "a/b", "a/b/file"].map((name) => statSync(join(folder, name)));
  expect(found.map(({ gid }) => gid)).toEqual([1234, 1234, 1234, 1234]);
  expect((found.at(-1)?.mode ?? 0) & 0o777).toBe(0o660);
});

test("work that is aborted ends, and the next one gets a helper that is well", async () => {
  const stop = new AbortController();
  const measuring = files.measure("/proc", "files", stop.signal);
  stop.abort(new Error("the pod is gone"));
  await expect(measuring).rejects.toThrow("the pod is gone");
  await files.makeFile(join(folder, "file"), never);
  expect(readFileSync(join(folder, "file"), "utf8")).toBe("");
});
