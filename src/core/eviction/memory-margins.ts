import { compareQuantity, quantityValue, subtractQuantity } from "../../model/quantity.ts";
import type { Observations } from "./observations.ts";
import { isMemorySignal, type Signal } from "./signal.ts";
import { type Threshold, thresholdQuantity } from "./threshold.ts";

/** How many bytes are left of each kind of memory before the next threshold is met; met ones do not count. */
export function memoryMargins(
  thresholds: readonly Threshold[],
  observations: Observations,
): ReadonlyMap<Signal, number> {
  const margins = new Map<Signal, number>();
  for (const { signal, operator, value } of thresholds) {
    const seen = isMemorySignal(signal) ? observations.get(signal) : undefined;
    if (seen === undefined || operator === "") continue;
    const least = thresholdQuantity(value, seen.capacity);
    if (compareQuantity(least, seen.available) > 0) continue;
    const bytes = Number(quantityValue(subtractQuantity(seen.available, least)));
    margins.set(signal, Math.min(margins.get(signal) ?? bytes, bytes));
  }
  return margins;
}
