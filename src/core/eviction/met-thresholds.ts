import { addQuantity, compareQuantity } from "../../model/quantity.ts";
import type { Observations } from "./observations.ts";
import {
  isEqualThreshold,
  isSameThreshold,
  type Threshold,
  thresholdQuantity,
} from "./threshold.ts";

/** When a threshold was first seen to be met, without a break since. */
export interface MetSince {
  readonly threshold: Threshold;
  readonly sinceMs: number;
}

/** The thresholds that are met, whatever their grace period. */
export function metThresholds(
  thresholds: readonly Threshold[],
  observations: Observations,
  { withMinReclaim }: { readonly withMinReclaim: boolean },
): Threshold[] {
  return thresholds.filter(({ signal, operator, value, minReclaim }) => {
    const seen = observations.get(signal);
    if (seen === undefined || operator === "") return false;
    const least = thresholdQuantity(value, seen.capacity);
    const wanted =
      withMinReclaim && minReclaim !== undefined
        ? addQuantity(least, thresholdQuantity(minReclaim, seen.capacity))
        : least;
    return compareQuantity(wanted, seen.available) > 0;
  });
}

/** The first list, and of the second what the first does not say. */
export function mergeThresholds(
  first: readonly Threshold[],
  second: readonly Threshold[],
): Threshold[] {
  const result = [...first];
  for (const threshold of second) {
    if (!result.some((other) => isEqualThreshold(other, threshold))) result.push(threshold);
  }
  return result;
}

/** Since when each of the thresholds has been met. */
export function metSince(
  thresholds: readonly Threshold[],
  before: readonly MetSince[],
  nowMs: number,
): MetSince[] {
  const result: MetSince[] = [];
  for (const threshold of thresholds) {
    const isSame = (other: MetSince) => isSameThreshold(other.threshold, threshold);
    if (result.some(isSame)) continue;
    result.push({ threshold, sinceMs: before.find(isSame)?.sinceMs ?? nowMs });
  }
  return result;
}

/** The thresholds that were met for as long as they must be. */
export function pastGracePeriod(met: readonly MetSince[], nowMs: number): Threshold[] {
  return met
    .filter(({ threshold, sinceMs }) => nowMs - sinceMs >= threshold.gracePeriodMs)
    .map(({ threshold }) => threshold);
}

/** The thresholds whose statistics are newer than those that were acted on before. */
export function withNewStats(
  thresholds: readonly Threshold[],
  now: Observations,
  before: Observations,
): Threshold[] {
  return thresholds.filter(({ signal }) => {
    const seen = now.get(signal);
    if (seen === undefined) return false;
    const last = before.get(signal);
    return last === undefined || seen.timeMs === 0 || seen.timeMs > last.timeMs;
  });
}
