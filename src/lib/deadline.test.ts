import { expect, test } from "vitest";
import { DeadlineError, isDoneWithin, withDeadline } from "./deadline.ts";
import { sleep, startTimer } from "./timers.ts";

const clock = { startTimer };
const hourMs = 3_600_000;
const never = new AbortController().signal;
const stuck = new Promise<never>(() => undefined);

test("work that is too late fails with what it was, and its signal aborts", async () => {
  let given: AbortSignal | undefined;
  const late = withDeadline(clock, { ms: 5, what: "reading a pod" }, never, (signal) => {
    given = signal;
    return stuck;
  });
  await expect(late).rejects.toThrow(new DeadlineError("reading a pod took longer than 0.005 s"));
  expect(given?.reason).toBeInstanceOf(DeadlineError);
});

test("work that cancelled its deadline may take its time", async () => {
  const work = withDeadline(clock, { ms: 5, what: "opening" }, never, async (signal, cancel) => {
    cancel();
    await sleep(50, signal);
    return "done";
  });
  expect(await work).toBe("done");
});

test("an abort reaches the work with its own reason", async () => {
  const end = new AbortController();
  const work = withDeadline(clock, { ms: hourMs, what: "waiting" }, end.signal, (signal) =>
    sleep(hourMs, signal),
  );
  end.abort(new Error("stopped"));
  await expect(work).rejects.toThrow("stopped");
});

test("waiting for work ends with it, after the time, or with an abort", async () => {
  expect(await isDoneWithin(clock, Promise.resolve(), hourMs, never)).toBe(true);
  expect(await isDoneWithin(clock, stuck, 5, never)).toBe(false);
  expect(await isDoneWithin(clock, stuck, hourMs, AbortSignal.abort())).toBe(false);
});

test("work of which one part fails has its other parts cancelled", async () => {
  let other: AbortSignal | undefined;
  const read = withDeadline(clock, { ms: hourMs, what: "reading" }, never, (signal) => {
    other = signal;
    return Promise.all([stuck, Promise.reject(new Error("broken"))]);
  });
  await expect(read).rejects.toThrow("broken");
  expect(other?.aborted).toBe(true);
});
