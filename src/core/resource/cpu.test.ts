import fc from "fast-check";
import { expect, test } from "vitest";
import { milliCpuToQuota, milliCpuToShares, quotaToMilliCpu, sharesToMilliCpu } from "./cpu.ts";

test("a request survives its way through shares", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 200_000 }), (milliCpu) => {
      expect(sharesToMilliCpu(milliCpuToShares(milliCpu))).toBe(milliCpu);
    }),
  );
});

test("a limit survives its way through a quota", () => {
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 200_000 }), (milliCpu) => {
      expect(quotaToMilliCpu(milliCpuToQuota(milliCpu, 100_000), 100_000)).toBe(milliCpu);
    }),
  );
});

test("a quota of -1 and shares below the kernel's least stand for no CPU amount", () => {
  expect(quotaToMilliCpu(-1, 100_000)).toBe(0);
  expect(sharesToMilliCpu(1)).toBe(0);
});
