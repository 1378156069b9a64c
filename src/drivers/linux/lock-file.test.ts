import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { holdLockFile, isAwaited } from "./lock-file.ts";

let folder: string;
let waiting: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-lock-"));
});
afterEach(() => {
  waiting?.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

test("a lock is wanted as soon as another process waits for it, and that one has it after the release", async () => {
  const path = join(folder, "kubelet.lock");
  const lock = await holdLockFile(path, new AbortController().signal);
  expect(lock.isWanted()).toBe(false);
  const other = spawn("flock", ["-x", path, "true"], { stdio: "ignore" });
  waiting = other;
  const ended = new Promise((resolve) => other.once("exit", resolve));
  await expect.poll(() => lock.isWanted(), { timeout: 20_000 }).toBe(true);
  lock.release();
  expect(await ended).toBe(0);
});

test("a wait for the lock of another process ends with the signal", async () => {
  const path = join(folder, "kubelet.lock");
  const first = await holdLockFile(path, new AbortController().signal);
  const stop = new AbortController();
  const second = holdLockFile(path, stop.signal);
  await expect.poll(() => first.isWanted(), { timeout: 20_000 }).toBe(true);
  stop.abort();
  await expect(second).rejects.toThrow("aborted");
  first.release();
});

test("only locks that wait count, and only those of that file", () => {
  const held = "1: FLOCK  ADVISORY  WRITE 100 08:01:7 0 EOF";
  const waits = "1: -> FLOCK  ADVISORY  WRITE 101 08:01:7 0 EOF";
  expect(isAwaited(`${held}\n`, "08:01:7")).toBe(false);
  expect(isAwaited(`${held}\n${waits}\n`, "08:01:7")).toBe(true);
  expect(isAwaited(`${held}\n${waits}\n`, "08:01:8")).toBe(false);
});
