import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/sim/virtual-clock.ts";
import type { Signal } from "../../../core/eviction/signal.ts";
import { MemoryWatch } from "./memory-watch.ts";

const { signal } = new AbortController();
const mebibyte = 2 ** 20;

/** A machine whose use of memory is set by hand, and how often it was asked for. */
function machine(podsCgroup?: string) {
  const clock = new VirtualClock();
  const used: Record<string, number | undefined> = { "/": 0, "/pods": 0 };
  let readings = 0;
  const gauge = {
    usedBytes: (cgroup: string) => {
      readings += 1;
      return used[cgroup];
    },
  };
  const watch = new MemoryWatch({ gauge, clock, podsCgroup });
  return { clock, used, watch, readings: () => readings };
}

const margins = (bytes: number, name: Signal = "memory.available") => new Map([[name, bytes]]);

test("a margin that holds lets the whole time pass", async () => {
  const { clock, watch } = machine();
  watch.arm(watch.read(), margins(100 * mebibyte));
  expect(await clock.run(watch.wait(10_000, signal))).toBe(false);
  expect(clock.monotonicMs()).toBe(10_000);
});

test("what the pods hold together is watched by itself", async () => {
  const { clock, used, watch } = machine("/pods");
  watch.arm(watch.read(), margins(mebibyte, "allocatableMemory.available"));
  used["/"] = 100 * mebibyte;
  const waiting = watch.wait(10_000, signal);
  await clock.advance(2_000);
  used["/pods"] = 2 * mebibyte;
  expect(await clock.run(waiting)).toBe(true);
  expect(clock.monotonicMs()).toBeLessThanOrEqual(2_100);
});

test("a margin that is gone at once still leaves half a second between two looks", async () => {
  const { clock, used, watch } = machine();
  watch.arm(watch.read(), margins(0));
  used["/"] = 1;
  expect(await clock.run(watch.wait(10_000, signal))).toBe(true);
  expect(clock.monotonicMs()).toBe(500);
});

test("far from a threshold memory is read seldom, without one not at all", async () => {
  const far = machine();
  far.watch.arm(far.watch.read(), margins(2 ** 40));
  await far.clock.run(far.watch.wait(10_000, signal));
  expect(far.readings()).toBeLessThanOrEqual(21);
  const without = machine();
  await without.clock.run(without.watch.wait(10_000, signal));
  expect(without.readings()).toBe(0);
});
