import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { measureTree } from "./tree-usage.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-tree-usage-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

function measure(path = folder) {
  return measureTree(path, "files", () => undefined);
}

test("a file with two names is counted once", () => {
  mkdirSync(join(folder, "deep/deeper"), { recursive: true });
  writeFileSync(join(folder, "deep/one"), Buffer.alloc(100_000, 1));
  linkSync(join(folder, "deep/one"), join(folder, "deep/deeper/same"));
  writeFileSync(join(folder, "two"), "x");
  const { use } = measure() ?? {};
  // Three folders, two files.
  expect(use?.inodesUsed).toBe(5);
  expect(use?.usedBytes).toBeGreaterThanOrEqual(100_000);
  expect(use?.usedBytes).toBeLessThan(200_000);
});

test("files are counted however deep they lie and however they are called", () => {
  const deep = join(folder, Array.from({ length: 400 }, () => "d").join("/"));
  mkdirSync(deep, { recursive: true });
  writeFileSync(Buffer.concat([Buffer.from(`${deep}/`), Buffer.from([0xff])]), "x");
  expect(measure()?.use.inodesUsed).toBe(402);
});

test("a file by itself and nothing at all are measured too", () => {
  writeFileSync(join(folder, "file"), "x");
  expect(measure(join(folder, "file"))?.use.inodesUsed).toBe(1);
  expect(measure(join(folder, "none"))).toBeUndefined();
});

test("a whole file system is measured by what is taken of it", () => {
  const whole = measureTree(folder, "file-system", () => undefined);
  expect(whole?.capacityBytes).toBeGreaterThan(whole?.availableBytes ?? Infinity);
  expect(whole?.use.usedBytes).toBe(whole?.usedBytes);
});
