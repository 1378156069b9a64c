import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { scaledClock } from "./scaled-clock.ts";

test("time goes so many times as fast from the moment on that the clock was made", async () => {
  const real = new VirtualClock(1_000_000);
  await real.advance(50);
  const fast = scaledClock(real, 10);
  expect([fast.nowMs(), fast.monotonicMs()]).toEqual([1_000_050, 0]);
  await real.advance(1000);
  expect([fast.nowMs(), fast.monotonicMs()]).toEqual([1_010_050, 10_000]);
  const startMs = real.nowMs();
  await real.run(fast.sleep(5000, new AbortController().signal));
  expect(real.nowMs() - startMs).toBe(500);
});
