import { appendFile, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readLog } from "./log-reader.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-log-"));
  path = join(folder, "0.log");
});
afterEach(() => rm(folder, { recursive: true }));

const options = { streams: "all", timestamps: false } as const;
const line = (n: number): string => `2026-01-01T00:00:00Z stdout F line ${n}\n`;

test("a reader that is several rotations behind reads every file in between, compressed ones too", async () => {
  await writeFile(path, line(1));
  const old = join(folder, "0.log.20260101-000001");
  await writeFile(`${old}.gz`, gzipSync(line(0)));
  const read: string[] = [];
  let finished = false;
  const sink = async (_: string, bytes: Uint8Array): Promise<void> => {
    read.push(Buffer.from(bytes).toString());
    if (read.length > 1) return;
    await rename(path, join(folder, "0.log.20260101-000002"));
    await writeFile(path, line(2));
    await rm(join(folder, "0.log.20260101-000002"));
    await writeFile(join(folder, "0.log.20260101-000002.gz"), gzipSync(line(1)));
    await rm(path);
    await writeFile(join(folder, "0.log.20260101-000003.gz"), gzipSync(line(2)));
    await writeFile(join(folder, "0.log.20260101-000004"), line(3));
    await writeFile(path, line(4));
    finished = true;
  };
  const followUntil = (): boolean => finished;
  await readLog(path, { ...options, followUntil }, sink, AbortSignal.timeout(10_000));
  expect(read).toEqual([1, 2, 3, 4].map((n) => `line ${n}\n`));
});

test("what the runtime still writes to a log after it was rotated away is read before the new one", async () => {
  await writeFile(path, line(1));
  const read: string[] = [];
  let finished = false;
  const sink = async (_: string, bytes: Uint8Array): Promise<void> => {
    read.push(Buffer.from(bytes).toString());
    if (read.length > 1) return;
    const rotated = join(folder, "0.log.20260101-000001");
    await rename(path, rotated);
    await writeFile(path, line(3));
    setTimeout(() => void appendFile(rotated, line(2)), 50);
    finished = true;
  };
  const followUntil = (): boolean => finished;
  await readLog(path, { ...options, followUntil }, sink, AbortSignal.timeout(10_000));
  expect(read).toEqual([1, 2, 3].map((n) => `line ${n}\n`));
});

test("between two files a log is what was rotated away last", async () => {
  await writeFile(join(folder, "0.log.20260101-000001.gz"), gzipSync(line(1)));
  const rotated = join(folder, "0.log.20260101-000002");
  await writeFile(rotated, line(2));
  const read: string[] = [];
  const sink = (_: string, bytes: Uint8Array): void => {
    read.push(Buffer.from(bytes).toString());
  };
  await readLog(path, options, sink, AbortSignal.timeout(10_000));
  expect(read).toEqual(["line 2\n"]);
  let finished = false;
  const follow = async (_: string, bytes: Uint8Array): Promise<void> => {
    read.push(Buffer.from(bytes).toString());
    if (finished) return;
    await appendFile(rotated, line(3));
    await writeFile(path, line(4));
    finished = true;
  };
  const followUntil = (): boolean => finished;
  await readLog(path, { ...options, followUntil }, follow, AbortSignal.timeout(10_000));
  expect(read.slice(1)).toEqual([2, 3, 4].map((n) => `line ${n}\n`));
  await expect(
    readLog(join(folder, "1.log"), options, sink, AbortSignal.timeout(10_000)),
  ).rejects.toThrow("ENOENT");
});

test("a link in a log's place is not followed", async () => {
  const elsewhere = join(folder, "elsewhere");
  await writeFile(elsewhere, line(1));
  await symlink(elsewhere, path);
  const read = readLog(path, options, () => Promise.resolve(), AbortSignal.timeout(30_000));
  await expect(read).rejects.toThrow("ELOOP");
});
