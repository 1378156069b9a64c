import fc from "fast-check";
import { expect, test } from "vitest";
import { memoryMargins } from "./memory-margins.ts";
import { metThresholds } from "./met-thresholds.ts";
import { observeSignals } from "./observations.ts";
import { parseThresholds } from "./parse-thresholds.ts";

function summary(
  availableBytes: number,
  workingSetBytes: number,
): Parameters<typeof observeSignals>[0] {
  const memory = { timeMs: 1, availableBytes, workingSetBytes };
  return { node: { nodeName: "n", startTimeMs: 0, memory }, pods: [] };
}

test("a margin that is used up to the last byte meets no threshold, and one byte more does", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2 ** 40 }),
      fc.integer({ min: 1, max: 2 ** 40 }),
      fc.constantFrom("1Mi", "100Mi", "10Gi", "0.1%", "12.5%", "99%"),
      (available, used, threshold) => {
        const parsed = parseThresholds({
          evictionHard: { "memory.available": threshold },
          evictionSoft: {},
          evictionSoftGracePeriod: {},
          evictionMinimumReclaim: {},
          enforceNodeAllocatable: [],
        });
        if (!parsed.ok) throw new Error(parsed.error);
        const { thresholds } = parsed.value;
        const metWith = (bytes: number): number => {
          const observations = observeSignals(summary(available - bytes, used + bytes));
          return metThresholds(thresholds, observations, { withMinReclaim: false }).length;
        };
        const observations = observeSignals(summary(available, used));
        const margin = memoryMargins(thresholds, observations).get("memory.available");
        const isMet = metWith(0) === 1;
        expect(margin === undefined).toBe(isMet);
        fc.pre(margin !== undefined);
        expect([metWith(margin), metWith(margin + 1)]).toEqual([0, 1]);
      },
    ),
  );
});
