import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sleep, startTimer, timeoutSignal } from "./timers.ts";

const dayMs = 86_400_000;
const lengths = [2 ** 31 - 1, 2 ** 31, 2 ** 31 + 500, 2 ** 32, 100 * dayMs];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

test.each(lengths)("a timer of %s ms goes off then, and once", (ms) => {
  const onTime = vi.fn<() => void>();
  startTimer(ms, onTime);
  vi.advanceTimersByTime(ms - 1);
  expect(onTime).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onTime).toHaveBeenCalledTimes(1);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([Number.MAX_SAFE_INTEGER, 2 ** 63 * 1000, Number.POSITIVE_INFINITY])(
  "a timer of %s ms does not go off in a thousand years",
  (ms) => {
    const onTime = vi.fn<() => void>();
    const timer = startTimer(ms, onTime);
    vi.advanceTimersByTime(1000 * 365 * dayMs);
    expect(onTime).not.toHaveBeenCalled();
    timer.stop();
    expect(vi.getTimerCount()).toBe(0);
  },
);

test("a timer that was stopped after 30 days does not go off", () => {
  const onTime = vi.fn<() => void>();
  const timer = startTimer(40 * dayMs, onTime);
  vi.advanceTimersByTime(30 * dayMs);
  timer.stop();
  vi.advanceTimersByTime(30 * dayMs);
  expect(onTime).not.toHaveBeenCalled();
});

test("a long sleep ends in time, or with the reason of its signal", async () => {
  const stop = new AbortController();
  const aborted = sleep(50 * dayMs, stop.signal);
  const slept = sleep(50 * dayMs);
  vi.advanceTimersByTime(49 * dayMs);
  stop.abort(new Error("enough"));
  await expect(aborted).rejects.toThrow("enough");
  vi.advanceTimersByTime(dayMs);
  await slept;
  await expect(sleep(1, stop.signal)).rejects.toThrow("enough");
});

test("a long timeout of a signal comes in time", () => {
  const signal = timeoutSignal(50 * dayMs);
  vi.advanceTimersByTime(50 * dayMs - 1);
  expect(signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toMatchObject({ name: "TimeoutError" });
});
