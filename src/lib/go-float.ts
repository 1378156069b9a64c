// Numbers with a fraction as Go programs read them, with their messages.
import { quoteText } from "./go-text.ts";
import { err, ok, type Result } from "./result.ts";

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/;
const hexadecimal = /^([+-]?)0x([\da-f]*)(?:\.([\da-f]*))?p([+-]?\d+)$/;
const minInt64 = -(2n ** 63n);

/** Reads a number of single precision: "12.5", "1e3", "0x1p-2", "Inf", "NaN". */
export function parseGoFloat32(text: string): Result<number, string> {
  const failed = (reason: string): Result<number, string> =>
    err(`strconv.ParseFloat: parsing ${quoteText(text)}: ${reason}`);
  const special = specialNumber(text.toLowerCase());
  if (special !== undefined) return ok(special);
  const value = numberOf(text.toLowerCase());
  if (value === undefined) return failed("invalid syntax");
  const single = Math.fround(value);
  return Number.isFinite(single) ? ok(single) : failed("value out of range");
}

/** A number cut to 64 bits; what does not fit becomes the least one, as on amd64. */
export function toInt64(value: number): bigint {
  if (!(value >= -(2 ** 63) && value < 2 ** 63)) return minInt64;
  return BigInt(Math.trunc(value));
}

function specialNumber(lower: string): number | undefined {
  if (lower === "nan") return Number.NaN;
  if (/^\+?inf(?:inity)?$/.test(lower)) return Number.POSITIVE_INFINITY;
  return /^-inf(?:inity)?$/.test(lower) ? Number.NEGATIVE_INFINITY : undefined;
}

function numberOf(lower: string): number | undefined {
  // An underscore stands between two digits, or behind the prefix.
  const first = lower.indexOf("_");
  if (first >= 0 && !/[\da-fx]/.test(lower[first - 1] ?? "")) return undefined;
  if (/_(?![\da-f])/.test(lower)) return undefined;
  const plain = lower.replaceAll("_", "");
  if (decimal.test(plain)) return Number(plain);
  const match = hexadecimal.exec(plain);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = ""] = match;
  if (whole === "" && fraction === "") return undefined;
  const size = Number(`0x${whole}${fraction}`) * 2 ** (Number(exponent) - 4 * fraction.length);
  return sign === "-" ? -size : size;
}
