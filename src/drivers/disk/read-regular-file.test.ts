import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readRegularFile } from "./read-regular-file.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-regular-"));
  writeFileSync(join(folder, "file"), "héllo");
  symlinkSync("file", join(folder, "link"));
  execFileSync("mkfifo", [join(folder, "pipe")]);
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each(["file", "link"])("a %s is read", (name) => {
  expect(readRegularFile(join(folder, name), 6)).toBe("héllo");
});

test("a file of the kernel, without a size, is read to its end", () => {
  expect(readRegularFile("/proc/self/status", 100_000)).toContain("Pid:");
});

test("a larger file is refused", () => {
  expect(() => readRegularFile(join(folder, "file"), 5)).toThrow("it is larger than 5 bytes");
});

test("what is not a regular file is refused at once", () => {
  expect(() => readRegularFile(join(folder, "pipe"), 5)).toThrow("it is not a regular file");
  expect(() => readRegularFile("/dev/zero", 5)).toThrow("it is not a regular file");
  expect(() => readRegularFile(folder, 5)).toThrow("EISDIR");
});
