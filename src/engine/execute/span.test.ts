import { expect, test } from "vitest";
import { notableSpans, SpanLog, startSpan } from "./span.ts";

/** A clock whose wall jumps while a work is under way. */
function jumpingClock() {
  let monotonicMs = 0;
  return {
    nowMs: () => 1_000_000 - monotonicMs * 10,
    monotonicMs: () => monotonicMs,
    pass: (ms: number) => {
      monotonicMs += ms;
    },
  };
}

test("a span begins by the wall's clock and lasts by one that never jumps", () => {
  const clock = jumpingClock();
  const span = startSpan(clock, "image");
  clock.pass(300);
  expect(span.end()).toEqual({ what: "image", startedAtMs: 1_000_000, durationMs: 300 });
});

test("a work that fails is a span that failed, and its error is passed on", async () => {
  const clock = jumpingClock();
  const log = new SpanLog(clock);
  await log.measure("folders", Promise.resolve());
  const failing = log.measure("volumes", Promise.reject(new Error("no such device")));
  await expect(failing).rejects.toThrow("no such device");
  expect(log.spans).toMatchObject([
    { what: "folders", durationMs: 0 },
    { what: "volumes", failed: true },
  ]);
});

test("what took no time and went well is not noted", () => {
  const short = { what: "cgroup", startedAtMs: 0, durationMs: 3 };
  const long = { what: "volumes", startedAtMs: 0, durationMs: 30 };
  const failed = { ...short, failed: true } as const;
  expect(notableSpans([short])).toBeUndefined();
  expect(notableSpans([short, long, failed])).toEqual([long, failed]);
});
