import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readRuntimeRecord, recordPath, writeRuntimeRecord } from "./runtime-record.ts";

let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "berth-record-"));
});

afterEach(() => rm(dataDir, { recursive: true }));

test("what was written is read, and a folder without it was never used", async () => {
  expect(await readRuntimeRecord(dataDir)).toBeUndefined();
  const record = { endpoint: "unix:///run/x.sock", network: undefined, cgroupRoot: "/berth" };
  await writeRuntimeRecord(dataDir, record);
  expect(await readRuntimeRecord(dataDir)).toEqual(record);
});

test.each(["", "{", "{}", "null"])("the record %j is damaged, not absent", async (text) => {
  await writeFile(recordPath(dataDir), text);
  expect(await readRuntimeRecord(dataDir)).toBe("damaged");
});
