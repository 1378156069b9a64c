// Durations to the nanosecond, read and written as Kubernetes' configuration has them.

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

/** Nanoseconds of a text such as "1h30m" or "-5.5s", or why it is no duration. */
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

function decimal(value: bigint, places: number): string {
  const scale = 10n ** BigInt(places);
  const fraction = trimEndOf(String(value % scale).padStart(places, "0"), "0");
  return fraction === "" ? `${value / scale}` : `${value / scale}.${fraction}`;
}
