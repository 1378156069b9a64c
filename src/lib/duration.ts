// Durations as Kubernetes writes them: Go's grammar ("1h30m", "1.5s", "-5s"), exact to the nanosecond.

import { quoteText } from "./go-text.ts";
import { err, ok, type Result } from "./result.ts";
import { trimEndOf } from "./trim-text.ts";

const unitNs: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  "\u00b5s": 1_000n,
  "\u03bcs": 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const maxNs = 2n ** 63n;
const nsPerMs = 1_000_000;

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** Nanoseconds of a text such as "1h30m" or "-5.5s", or what is wrong with it. */
export function parseNanoseconds(text: string): Result<bigint, string> {
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  let rest = text.slice(sign.length);
  const invalid = err(`time: invalid duration ${quoteText(text)}`);
  if (rest === "0") return ok(0n);
  if (rest === "") return invalid;
  let total = 0n;
  while (rest !== "") {
    const part = /^(\d*)(?:(\.)(\d*))?/.exec(rest);
    const [number = "", whole = "", , fraction = ""] = part ?? [];
    if (whole === "" && fraction === "") return invalid;
    rest = rest.slice(number.length);
    const unit = /^[^.\d]*/.exec(rest)?.[0] ?? "";
    if (unit === "") return err(`time: missing unit in duration ${quoteText(text)}`);
    const size = Object.hasOwn(unitNs, unit) ? unitNs[unit] : undefined;
    if (size === undefined) {
      return err(`time: unknown unit ${quoteText(unit)} in duration ${quoteText(text)}`);
    }
    rest = rest.slice(unit.length);
    total += BigInt(whole === "" ? 0 : whole) * size + fractionOf(fraction, size);
    if (total > maxNs) return invalid;
  }
  if (sign === "-") return ok(-total);
  return total === maxNs ? invalid : ok(total);
}

/** Milliseconds of such a text, or what is wrong with it. */
export function parseDuration(text: string): Result<number, string> {
  const parsed = parseNanoseconds(text);
  return parsed.ok ? ok(Number(parsed.value) / nsPerMs) : parsed;
}

/** Nanoseconds of a text that was checked where it came in; throws when it was not. */
export function nanosecondsOf(text: string): bigint {
  const parsed = parseNanoseconds(text);
  if (!parsed.ok) throw new RangeError(parsed.error);
  return parsed.value;
}

/** Milliseconds of a text that was checked where it came in; throws when it was not. */
export function millisecondsOf(text: string): number {
  return Number(nanosecondsOf(text)) / nsPerMs;
}

/** Digits behind the point that 63 bits do not hold are dropped. */
function fractionOf(digits: string, size: bigint): bigint {
  const kept = digits.slice(0, 18);
  if (kept === "") return 0n;
  return (BigInt(kept) * size) / 10n ** BigInt(kept.length);
}

/** The canonical text: "1h0m0s", "1.5s", "100ms", "0s". */
export function formatNanoseconds(ns: bigint): string {
  if (ns === 0n) return "0s";
  const sign = ns < 0n ? "-" : "";
  const size = ns < 0n ? -ns : ns;
  if (size < 1_000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${decimal(size, 3)}\u00b5s`;
  if (size < 1_000_000_000n) return `${sign}${decimal(size, 6)}ms`;
  const hours = size / 3_600_000_000_000n;
  const minutes = (size / 60_000_000_000n) % 60n;
  const seconds = `${decimal(size % 60_000_000_000n, 9)}s`;
  const hoursText = hours > 0n ? `${hours}h` : "";
  const minutesText = hours > 0n || minutes > 0n ? `${minutes}m` : "";
  return `${sign}${hoursText}${minutesText}${seconds}`;
}

/** A span for people in two or three digits, as kubectl prints ages: "12s", "4m5s", "3h", "2d5h". */
export function formatAge(ms: number): string {
  const seconds = Math.trunc(ms / secondMs);
  // Clocks of two machines differ: what is barely in the future counts as now.
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(ms / minuteMs);
  if (minutes < 10) return twoUnits(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(ms / hourMs);
  if (hours < 8) return twoUnits(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 24 * 8) return twoUnits(days, "d", hours % 24, "h");
  if (days < 365 * 2) return `${days}d`;
  const years = Math.floor(days / 365);
  return days < 365 * 8 ? twoUnits(years, "y", days % 365, "d") : `${years}y`;
}

function decimal(value: bigint, places: number): string {
  const scale = 10n ** BigInt(places);
  const fraction = trimEndOf(String(value % scale).padStart(places, "0"), "0");
  return fraction === "" ? `${value / scale}` : `${value / scale}.${fraction}`;
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
