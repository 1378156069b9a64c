import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runtimeContainerId } from "../../model/ids.ts";
import { inTurns } from "./exec-turns.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new AbortController().signal;

/** Commands that end when the test says so. */
function commands() {
  const running: (() => void)[] = [];
  let started = 0;
  const execSync = inTurns(() => {
    started += 1;
    return new Promise((resolve) => running.push(() => resolve({ exitCode: 0 })));
  }, 2);
  const start = (signal = never) => execSync(runtimeContainerId("id"), ["true"], 1, signal);
  return { start, running, started: () => started };
}

test("so many commands start at once, and the next when one has ended", async () => {
  const { start, running, started } = commands();
  const all = [start(), start(), start()];
  await vi.advanceTimersByTimeAsync(0);
  expect(started()).toBe(2);
  running[0]?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(started()).toBe(3);
  for (const end of running) end();
  expect(await Promise.all(all)).toHaveLength(3);
});

test("commands that hang hold up the others for a second only", async () => {
  const { start, started } = commands();
  for (let count = 0; count < 5; count++) void start();
  await vi.advanceTimersByTimeAsync(0);
  expect(started()).toBe(2);
  await vi.advanceTimersByTimeAsync(2000);
  expect(started()).toBe(5);
});

test("one that is aborted gives up its place", async () => {
  const { start, running, started } = commands();
  void start();
  void start();
  const stop = new AbortController();
  const unwanted = start(stop.signal);
  stop.abort();
  await expect(unwanted).rejects.toThrow("aborted");
  running[0]?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(started()).toBe(2);
});
