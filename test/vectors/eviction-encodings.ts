// How the eviction domains write statistics and thresholds.
import type { Threshold, ThresholdValue } from "../../src/core/eviction/threshold.ts";
import { formatNanoseconds } from "../../src/lib/duration.ts";
import { parseTime } from "../../src/lib/time.ts";
import { formatQuantity } from "../../src/model/quantity.ts";
import type { Summary } from "../../src/model/stats-summary.ts";

const names: Readonly<Record<string, string>> = {
  time: "timeMs",
  startTime: "startTimeMs",
  volume: "volumeStats",
  "ephemeral-storage": "ephemeralStorage",
  process_stats: "processStats",
  process_count: "processCount",
  maxpid: "maxPid",
  curproc: "runningProcesses",
};

/** Statistics in the API's JSON as the agent holds them. */
export function decodeSummary(summary: unknown): Summary {
  return decode(summary, "") as Summary;
}

function decode(value: unknown, name: string): unknown {
  if (name === "timeMs" || name === "startTimeMs") {
    return typeof value === "string" ? parseTime(value) : 0;
  }
  if (name === "pods" || name === "containers")
    return listOf(value).map((item) => decode(item, ""));
  if (Array.isArray(value)) return value.map((item) => decode(item, ""));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => {
      const renamed = names[field] ?? field;
      return [renamed, decode(inner, renamed)];
    }),
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

interface EncodedThreshold {
  readonly gracePeriod: string;
  readonly minReclaim?: unknown;
  readonly operator: string;
  readonly signal: string;
  readonly value: unknown;
}

export function encodeThresholds(thresholds: readonly Threshold[]): EncodedThreshold[] {
  return thresholds
    .map((threshold) => ({
      gracePeriod: encodeMs(threshold.gracePeriodMs),
      ...(threshold.minReclaim === undefined
        ? {}
        : { minReclaim: encodeValue(threshold.minReclaim) }),
      operator: threshold.operator,
      signal: threshold.signal,
      value: encodeValue(threshold.value),
    }))
    .toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}

export function encodeMs(ms: number): string {
  return formatNanoseconds(BigInt(Math.round(ms * 1_000_000)));
}

function sortKey(threshold: EncodedThreshold): string {
  return `${threshold.signal} ${JSON.stringify(threshold)}`;
}

function encodeValue(value: ThresholdValue): Readonly<Record<string, string>> {
  return value.kind === "quantity"
    ? { quantity: formatQuantity(value.quantity) }
    : { percentage: shortestSingle(value.percentage) };
}

/** The shortest text that reads back as the same number of single precision. */
function shortestSingle(value: number): string {
  for (let digits = 1; digits < 10; digits++) {
    const text = Number(value.toPrecision(digits));
    if (Math.fround(text) === value) return String(text);
  }
  return String(value);
}
