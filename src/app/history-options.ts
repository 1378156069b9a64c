// How much history is kept, and for how long.
import type { HistoryLimits } from "../drivers/disk/disk-history.ts";
import { parseDuration } from "../lib/duration.ts";
import { SetupError } from "../lib/setup-error.ts";
import { parseQuantity, quantityValue } from "../model/quantity.ts";

const mebibyte = 1024 * 1024;
const leastBytes = 4 * mebibyte;
const leastAgeMs = 60_000;

export interface HistoryOptions {
  /** A quantity such as 64Mi. */
  readonly historyMaxSize?: string | undefined;
  /** A duration such as 168h. */
  readonly historyMaxAge?: string | undefined;
}

export const defaultHistoryLimits: HistoryLimits = {
  maxBytes: 64 * mebibyte,
  maxAgeMs: 7 * 24 * 3_600_000,
};

/** What was left out or is empty is as usual. A refusal names what `berth up` or `berth kubelet` was given. */
export function parseHistory(options: HistoryOptions, names: HistoryNames): HistoryLimits {
  const { historyMaxSize = "", historyMaxAge = "" } = options;
  return {
    maxBytes:
      historyMaxSize === ""
        ? defaultHistoryLimits.maxBytes
        : parseSize(historyMaxSize, names.historyMaxSize),
    maxAgeMs:
      historyMaxAge === ""
        ? defaultHistoryLimits.maxAgeMs
        : parseAge(historyMaxAge, names.historyMaxAge),
  };
}

type HistoryNames = Readonly<Record<keyof HistoryOptions, string>>;

/** As `berth up` takes them. */
export const historyFlags: HistoryNames = {
  historyMaxSize: "--history-max-size",
  historyMaxAge: "--history-max-age",
};

/** A kubelet's flags and configuration have no place for them. */
export const historyVariables: HistoryNames = {
  historyMaxSize: "BERTH_HISTORY_MAX_SIZE",
  historyMaxAge: "BERTH_HISTORY_MAX_AGE",
};

function parseSize(text: string, name: string): number {
  const quantity = parseQuantity(text);
  const bytes = quantity.ok ? Number(quantityValue(quantity.value)) : Number.NaN;
  if (bytes >= leastBytes) return bytes;
  throw new SetupError(`${name}: "${text}" is not a size of at least 4Mi`, "give one such as 64Mi");
}

function parseAge(text: string, name: string): number {
  const age = parseDuration(text);
  if (age.ok && age.value >= leastAgeMs) return age.value;
  throw new SetupError(
    `${name}: "${text}" is not a duration of at least 1m`,
    "give one such as 168h",
  );
}
