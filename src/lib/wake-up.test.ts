import { expect, test } from "vitest";
import { startTimer } from "./timers.ts";
import { WakeUp } from "./wake-up.ts";

const hourMs = 3_600_000;
const never = new AbortController().signal;

test("a notification ends the wait in progress, and only that one", async () => {
  const wakeUp = new WakeUp({ startTimer });
  const waiting = wakeUp.wait(hourMs, never);
  wakeUp.notify();
  expect(await waiting).toBe("notified");
  expect(await wakeUp.wait(1, never)).toBe("timeout");
});

test("a notification without a waiter is kept until it is cleared", async () => {
  const wakeUp = new WakeUp({ startTimer });
  wakeUp.notify();
  expect(await wakeUp.wait(hourMs, never)).toBe("notified");
  wakeUp.notify();
  wakeUp.clear();
  expect(await wakeUp.wait(1, never)).toBe("timeout");
});

test("an abort ends the wait, also one that was notified", async () => {
  const end = new AbortController();
  const wakeUp = new WakeUp({ startTimer });
  const waiting = wakeUp.wait(hourMs, end.signal);
  end.abort();
  expect(await waiting).toBe("aborted");
  wakeUp.notify();
  expect(await wakeUp.wait(hourMs, end.signal)).toBe("aborted");
});
