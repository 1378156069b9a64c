import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { podUid } from "../../model/ids.ts";
import type { HistoryEntry, StatusEntry } from "../../ports/history.ts";
import { DiskHistory, type DiskHistoryOptions } from "./disk-history.ts";

const { signal } = new AbortController();
const dayMs = 86_400_000;
const limits = { maxBytes: 64 * 1024 * 1024, maxAgeMs: 7 * dayMs };
let folder = "";
let nowMs = 0;

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "berth-history-")), "records");
  nowMs = 1_000_000;
});

afterEach(() => rmSync(join(folder, ".."), { recursive: true, force: true }));

function newHistory(options: Partial<DiskHistoryOptions> = {}): DiskHistory {
  const onFailure = (error: unknown): never => {
    throw error;
  };
  return new DiskHistory({ folder, limits, nowMs: () => nowMs, onFailure, ...options });
}

function event(atMs: number, message = "it happened", uid = "uid-1"): HistoryEntry {
  const pod = `default/${uid}`;
  const type = "Normal";
  return { kind: "event", atMs, uid: podUid(uid), pod, type, reason: "Tested", message, count: 1 };
}

function status(atMs: number, phase = "Running", uid = "uid-1"): StatusEntry {
  const pod = `default/${uid}`;
  const shown = { ready: "1/1", status: phase, restarts: 0, phase, containers: [], conditions: [] };
  return { kind: "status", atMs, uid: podUid(uid), pod, ...shown };
}

function gone(atMs: number, uid = "uid-1"): HistoryEntry {
  return { kind: "gone", atMs, uid: podUid(uid), pod: `default/${uid}` };
}

async function timesOf(history: DiskHistory, uid?: string): Promise<readonly number[]> {
  const query = uid === undefined ? {} : { uid: podUid(uid) };
  return (await history.entries(query, signal)).items.map(({ atMs }) => atMs);
}

function filesOf(): readonly string[] {
  return readdirSync(folder).toSorted();
}

function onlyFile(): string {
  const [name = "", ...others] = filesOf();
  expect(others).toEqual([]);
  return join(folder, name);
}

test("what was appended is read newest first, by this store and by the next one", async () => {
  const history = newHistory();
  const entries = [event(1), status(2), gone(3)];
  for (const entry of entries) history.append(entry);
  const expected = entries.toReversed();
  expect((await history.entries({}, signal)).items).toEqual(expected);
  expect((await newHistory().entries({}, signal)).items).toEqual(expected);
});

test("an entry keeps whatever is in its text", async () => {
  const history = newHistory();
  const message = 'line\nbreak \u2028 "quote" \ud83d\ude00 \ud800';
  const uid = podUid("a b/c\nd");
  history.append({ ...event(1, message), uid } as HistoryEntry);
  expect((await newHistory().entries({}, signal)).items).toEqual([]);
  await history.flush();
  expect((await newHistory().entries({ uid }, signal)).items).toMatchObject([{ uid, message }]);
});

test.each([
  ["is not a text", "\ud800x"],
  ["is too long for a head", "\u20ac".repeat(5000)],
  ["is cut within a character", `${"\u20ac".repeat(99)}${"\ud83d\ude00".repeat(500)}`],
  ["is long and fits", "x".repeat(900)],
])("entries of a pod whose UID %s are found by it", async (_, uid) => {
  const history = newHistory();
  history.append(event(1, "it happened", uid));
  history.append(status(2, "Running", uid));
  expect(await timesOf(history, uid)).toEqual([2, 1]);
  expect((await history.entries({}, signal)).problems).toEqual([]);
  expect((await newHistory().pods(signal)).items).toHaveLength(1);
});

test("entries are found by pod, kind and time, page by page", async () => {
  const history = newHistory();
  for (let atMs = 1; atMs <= 10; atMs++) {
    history.append(event(atMs, "a", `uid-${atMs % 2}`));
    history.append(status(atMs, "Running", `uid-${atMs % 2}`));
  }
  const query = {
    uid: podUid("uid-1"),
    kinds: ["event"],
    sinceMs: 3,
    untilMs: 9,
    limit: 3,
  } as const;
  const first = await history.entries(query, signal);
  expect(first.items.map(({ atMs }) => atMs)).toEqual([9, 7, 5]);
  history.append(event(9, "meanwhile"));
  const second = await history.entries({ ...query, before: first.next }, signal);
  expect(second.items.map(({ atMs }) => atMs)).toEqual([3]);
  expect(second.next).toBeUndefined();
});

test("a file that was cut at any byte loses the last entry alone, and the next store goes on behind it", async () => {
  const history = newHistory();
  for (const atMs of [1, 2]) history.append(event(atMs));
  await history.flush();
  const path = onlyFile();
  const before = statSync(path).size;
  history.append(event(3));
  await history.flush();
  const whole = readFileSync(path);
  for (let length = before; length <= whole.length; length++) {
    writeFileSync(path, whole.subarray(0, length));
    const expected = length === whole.length ? [3, 2, 1] : [2, 1];
    const next = newHistory();
    expect(await timesOf(next)).toEqual(expected);
    next.append(event(4));
    const page = await next.entries({}, signal);
    expect(page.items.map(({ atMs }) => atMs)).toEqual([4, ...expected]);
    expect(page.problems).toEqual([]);
  }
});

test("damage anywhere costs the lines that it is in, and is reported with the file", async () => {
  const history = newHistory();
  for (const atMs of [1, 2, 3]) history.append(event(atMs));
  await history.flush();
  const path = onlyFile();
  const whole = readFileSync(path);
  const second = whole.indexOf("\n") + 1;
  const third = whole.indexOf("\n", second) + 1;
  for (let place = second; place < third - 1; place++) {
    const damaged = Buffer.from(whole);
    damaged[place] = damaged[place] === 0x7a ? 0x79 : 0x7a;
    writeFileSync(path, damaged);
    const page = await newHistory().entries({}, signal);
    expect(page.items.map(({ atMs }) => atMs)).toEqual([3, 1]);
    expect(page.problems).toEqual([expect.stringContaining(path)]);
  }
});

test("a file that is nothing of the kind is reported, and history goes on", async () => {
  const history = newHistory();
  history.append(event(1));
  await history.flush();
  writeFileSync(onlyFile(), Buffer.alloc(100_000));
  const next = newHistory();
  next.append(event(2));
  expect(await timesOf(next)).toEqual([2]);
  expect((await next.pods(signal)).items).toHaveLength(1);
});

test("a large history keeps the newest within its size", async () => {
  const maxBytes = 256 * 1024;
  const history = newHistory({ limits: { ...limits, maxBytes } });
  const text = "x".repeat(1000);
  for (let atMs = 1; atMs <= 1000; atMs++) {
    history.append(event(atMs, text));
    if (atMs % 5 === 0) await history.flush();
  }
  const bytes = filesOf().reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  expect(bytes).toBeLessThanOrEqual(maxBytes);
  expect(bytes).toBeGreaterThan(maxBytes / 2);
  const times = await timesOf(newHistory());
  expect(times).toEqual(times.map((_, index) => 1000 - index));
  expect(times.length).toBeGreaterThan(100);
});

test("what is older than the limit goes, and the statuses of pods that are still here stay known", async () => {
  const history = newHistory();
  history.keep(() => [status(1)]);
  history.append(status(1));
  history.append(status(2, "Failed", "uid-2"));
  history.append(gone(3, "uid-2"));
  await history.flush();
  nowMs += 4 * dayMs;
  history.append(event(10));
  await history.flush();
  nowMs += 8 * dayMs;
  history.append(event(11));
  await history.flush();
  expect(await timesOf(history)).toEqual([11, 10]);
  expect((await history.pods(signal)).items).toMatchObject([{ name: "uid-1", last: status(1) }]);
  expect(await history.moment(nowMs, signal)).toMatchObject({ pods: [status(1)], newestMs: 11 });
});

test("the node is shown as it was at any time", async () => {
  const history = newHistory();
  const at = (timeMs: number) => history.moment(timeMs, signal);
  nowMs = 10;
  history.append(status(11, "Pending"));
  history.append(status(12, "Running", "uid-2"));
  history.append(status(13, "Running"));
  history.append(gone(14, "uid-2"));
  history.append({ kind: "node", atMs: 15, pods: 1, pressures: [] });
  const seen = async (timeMs: number) =>
    (await at(timeMs)).pods.map(({ uid, phase }) => `${uid} ${phase}`);
  expect(await seen(9)).toEqual([]);
  expect(await seen(11)).toEqual(["uid-1 Pending"]);
  expect(await seen(12)).toEqual(["uid-1 Pending", "uid-2 Running"]);
  expect(await seen(13)).toEqual(["uid-1 Running", "uid-2 Running"]);
  expect(await seen(99)).toEqual(["uid-1 Running"]);
  expect(await at(15)).toMatchObject({ node: { pods: 1 }, newestMs: 15 });
  expect(await at(5)).toEqual({ pods: [], oldestMs: 10 });
});

test("pods are listed with when they were seen and whether they are gone, also across files", async () => {
  const history = newHistory();
  history.append(status(1));
  history.append(status(2, "Failed", "uid-2"));
  await history.flush();
  nowMs += dayMs;
  history.append(gone(5, "uid-2"));
  history.append(event(6));
  await history.flush();
  expect(filesOf()).toHaveLength(2);
  const expected = [
    { name: "uid-1", firstSeenMs: 1, lastSeenMs: 6, goneMs: undefined, last: status(1) },
    { name: "uid-2", firstSeenMs: 2, lastSeenMs: 5, goneMs: 5, last: { phase: "Failed" } },
  ];
  expect((await history.pods(signal)).items).toMatchObject(expected);
  expect((await newHistory().pods(signal)).items).toMatchObject(expected);
});

test("a disk that refuses to write costs nothing that still fits in memory, and is reported once", async () => {
  const failures: unknown[] = [];
  writeFileSync(folder, "in the way of the folder");
  const history = newHistory({ onFailure: (error) => failures.push(error) });
  for (const atMs of [1, 2]) {
    history.append(event(atMs));
    await history.flush();
  }
  expect(failures).toHaveLength(1);
  rmSync(folder);
  history.append(event(3));
  expect(await timesOf(history)).toEqual([3, 2, 1]);
});

test("a disk that is full is tried again, and no attempt leaves a file", async () => {
  const failures: unknown[] = [];
  const history = newHistory({ onFailure: (error) => failures.push(error) });
  history.keep(() => [status(1)]);
  history.append(event(1, "x".repeat(200)));
  await history.flush();
  const files = filesOf();
  // The next part begins, and nothing can be written into it.
  limitFileSize("1");
  try {
    for (let days = 1; days <= 3; days++) {
      nowMs += dayMs;
      history.append(event(1 + days));
      await history.flush();
    }
  } finally {
    limitFileSize("unlimited");
  }
  expect(failures).toHaveLength(1);
  expect(filesOf()).toEqual(files);
  await history.flush();
  expect(await timesOf(history)).toEqual([4, 3, 2, 1]);
  expect(filesOf()).toHaveLength(2);
});

/** Of all files that this process writes, as a full disk would; Node.js ignores the signal of it. */
function limitFileSize(bytes: string): void {
  const command = ["prlimit", `--pid=${process.pid}`, `--fsize=${bytes}:`];
  execFileSync("sh", ["-c", command.join(" ")]);
}

test("what does not fit in memory while the disk refuses is counted", async () => {
  writeFileSync(folder, "in the way of the folder");
  const history = newHistory({ onFailure: () => undefined });
  const text = "x".repeat(1_000_000);
  for (let atMs = 1; atMs <= 10; atMs++) history.append(event(atMs, text));
  await history.flush();
  rmSync(folder);
  const { items } = await history.entries({ kinds: ["agent", "event"] }, signal);
  const lost = items.find(({ kind }) => kind === "agent");
  expect(lost).toMatchObject({ what: "lost" });
  const count = lost?.kind === "agent" ? (lost.lost ?? 0) : 0;
  expect(count + items.length - 1).toBe(10);
});

test("files that were removed by hand are begun again", async () => {
  const history = newHistory({ onFailure: () => undefined });
  history.append(event(1));
  await history.flush();
  rmSync(folder, { recursive: true });
  history.append(event(2));
  await history.flush();
  expect(await timesOf(history)).toEqual([2]);
});
