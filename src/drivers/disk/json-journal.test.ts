import { appendFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { JsonJournal } from "./json-journal.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-journal-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function fail(error: unknown): void {
  throw error;
}

test("what was appended is read back in order, also by a new journal", async () => {
  const journal = new JsonJournal(folder, fail);
  for (let index = 0; index < 10; index++) journal.append("pod-1", { index });
  await journal.flush();
  const entries = await new JsonJournal(folder, fail).read("pod-1");
  expect(entries).toEqual(Array.from({ length: 10 }, (_, index) => ({ index })));
});

test("a journal stays bounded and keeps its newest entries", async () => {
  const journal = new JsonJournal(folder, fail);
  for (let index = 0; index < 1000; index++) {
    journal.append("pod-1", { index });
    if (index % 50 === 0) await journal.flush();
  }
  const entries = await journal.read("pod-1");
  expect(entries.length).toBeLessThanOrEqual(200);
  expect(entries.at(-1)).toEqual({ index: 999 });
});

test("a line torn by a crash is left out and the others are kept", async () => {
  const journal = new JsonJournal(folder, fail);
  journal.append("pod-1", { index: 0 });
  await journal.flush();
  appendFileSync(join(folder, "pod-1.jsonl"), '{"index":');
  expect(await journal.read("pod-1")).toEqual([{ index: 0 }]);
});

test("only its owner may read a journal", async () => {
  const journal = new JsonJournal(folder, fail);
  journal.append("pod-1", {});
  await journal.flush();
  expect(statSync(join(folder, "pod-1.jsonl")).mode & 0o777).toBe(0o600);
});

test("a key that would leave the folder is refused", async () => {
  await expect(new JsonJournal(folder, fail).read("../etc")).rejects.toThrow(
    "cannot name a journal",
  );
});

test("a removed journal is empty", async () => {
  const journal = new JsonJournal(folder, fail);
  journal.append("pod-1", {});
  await journal.remove("pod-1");
  expect(await journal.read("pod-1")).toEqual([]);
  expect(await journal.list()).toEqual([]);
});

test("while the disk does not take them, no more entries wait than the file would keep", async () => {
  const journal = new JsonJournal(folder, fail);
  for (let index = 0; index < 1000; index++) journal.append("pod-1", { index });
  const entries = await journal.read("pod-1");
  expect(entries).toHaveLength(100);
  expect(entries.at(-1)).toEqual({ index: 999 });
});
