import { expect, test } from "vitest";
import { systemClock } from "./system-clock.ts";

test("a sleep ends after its time", async () => {
  const before = systemClock.monotonicMs();
  await systemClock.sleep(5, new AbortController().signal);
  expect(systemClock.monotonicMs() - before).toBeGreaterThanOrEqual(5);
});

test("an abort ends a sleep with the signal's reason, also one longer than a timer can hold", async () => {
  const controller = new AbortController();
  const sleep = systemClock.sleep(2 ** 40, controller.signal);
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(sleep).rejects.toBe(reason);
  await expect(systemClock.sleep(1, controller.signal)).rejects.toBe(reason);
});
