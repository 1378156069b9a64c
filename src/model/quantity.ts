import { err, ok, type Result } from "../lib/result.ts";

/** How a quantity is written: 12M, 12Mi or 12e6. The empty format is that of a quantity never set. */
export type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent" | "";

/**
 * An exact amount: `unscaled` times ten to the `exponent`.
 * A "small" amount is one whose `unscaled` fits 64 bits; it and a "big" one overflow differently when read as a whole number.
 */
export interface Quantity {
  readonly size: "small" | "big";
  readonly unscaled: bigint;
  readonly exponent: number;
  readonly format: QuantityFormat;
  /** The text it was read from, when that is kept as the canonical form. */
  readonly text?: string | undefined;
}

const formatError =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const numericError = "unable to parse numeric part of quantity";
const suffixError = "unable to parse quantity's suffix";

const scanner =
  /^([+-]?)(0*)((?:[1-9][0-9]*)?)(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)?)$/;
const nano = -9;
const milli = -3;
const smallDigits = 18;
const maxInt64 = 2n ** 63n - 1n;
const minInt64 = -(2n ** 63n);
/** Keeps a hostile exponent from costing more time and memory than any real amount does. */
const exponentLimit = 99_999;

interface Suffix {
  readonly base: 2 | 10;
  readonly exponent: number;
  readonly format: QuantityFormat;
}

const decimalSuffixes: ReadonlyMap<string, number> = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const binarySuffixes: ReadonlyMap<string, number> = new Map([
  ["Ki", 10],
  ["Mi", 20],
  ["Gi", 30],
  ["Ti", 40],
  ["Pi", 50],
  ["Ei", 60],
]);
const decimalSuffixOf = inverse(decimalSuffixes);
const binarySuffixOf = inverse(binarySuffixes);

/** The quantity zero, with no format of its own: it takes that of what is added to it. */
export const zeroQuantity: Quantity = { size: "small", unscaled: 0n, exponent: 0, format: "" };

/** Reads a quantity as the Kubernetes API does; amounts below one billionth are rounded up to it. */
export function parseQuantity(text: string): Result<Quantity, string> {
  if (text === "") return err(formatError);
  if (text === "0") return ok({ ...zeroQuantity, format: "DecimalSI", text });
  const match = scanner.exec(text);
  if (match === null) return err(formatError);
  const [, sign = "", zeros = "", whole = "", fraction = "", suffixText = ""] = match;
  const suffix = parseSuffix(suffixText);
  if (suffix === undefined) return err(suffixError);
  const number: Scanned = {
    text,
    negative: sign === "-",
    whole: whole === "" ? "0" : whole,
    fraction,
    suffix,
  };
  const small = smallQuantity(number);
  if (small !== undefined) return ok(small);
  if (zeros === "" && whole === "" && fraction === "") return err(numericError);
  return ok(bigQuantity(number));
}

/** Reads a quantity that is known to be well formed. */
export function mustParseQuantity(text: string): Quantity {
  const parsed = parseQuantity(text);
  if (!parsed.ok) throw new Error(`cannot parse '${text}': ${parsed.error}`);
  return parsed.value;
}

/** A whole amount. */
export function wholeQuantity(value: bigint, format: QuantityFormat): Quantity {
  return { size: "small", unscaled: value, exponent: 0, format };
}

/** An amount in thousandths. */
export function milliQuantity(value: bigint, format: QuantityFormat): Quantity {
  return { size: "small", unscaled: value, exponent: milli, format };
}

/** The amount in whole units, rounded up; wraps around where it does not fit 64 bits. */
export function quantityValue(quantity: Quantity): bigint {
  return scaledValue(quantity, 0);
}

/** The amount in thousandths, rounded up; wraps around where it does not fit 64 bits. */
export function quantityMilliValue(quantity: Quantity): bigint {
  return scaledValue(quantity, milli);
}

/** The amount where it is whole and was written as a number that fits 64 bits; upstream does not look further. */
export function exactInt64({ size, unscaled, exponent }: Quantity): bigint | undefined {
  if (size !== "small" || exponent < 0) return undefined;
  const value = unscaled * powerOfTen(exponent);
  return isInt64(value) ? value : undefined;
}

/** The sum, in the format of `a`, or of `b` when `a` is zero. */
export function addQuantity(a: Quantity, b: Quantity): Quantity {
  const format = a.unscaled === 0n ? b.format : a.format;
  if (a.size === "small" && b.size === "small") {
    if (b.unscaled === 0n) return { ...withoutText(a), format };
    if (a.unscaled === 0n) return { ...withoutText(b), format };
  }
  const exponent = Math.min(a.exponent, b.exponent);
  const left = a.unscaled * powerOfTen(a.exponent - exponent);
  const right = b.unscaled * powerOfTen(b.exponent - exponent);
  const unscaled = left + right;
  const isSmall =
    a.size === "small" &&
    b.size === "small" &&
    isInt64(left) &&
    isInt64(right) &&
    isInt64(unscaled);
  return { size: isSmall ? "small" : "big", unscaled, exponent, format };
}

/** The difference, in the format of `a`, or of `b` when `a` is zero. */
export function subtractQuantity(a: Quantity, b: Quantity): Quantity {
  return addQuantity(a, { ...withoutText(b), unscaled: -b.unscaled });
}

export function compareQuantity(a: Quantity, b: Quantity): -1 | 0 | 1 {
  const exponent = Math.min(a.exponent, b.exponent);
  const left = a.unscaled * powerOfTen(a.exponent - exponent);
  const right = b.unscaled * powerOfTen(b.exponent - exponent);
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** In whole thousandths, as lists of resources are held; what is lost rounds away from zero. */
export function milliRoundedQuantity(quantity: Quantity): Quantity {
  const { size, unscaled, exponent, format } = quantity;
  if (size === "small" && exponent >= milli) return quantity;
  return { size, unscaled: rescaleUp(unscaled, exponent, milli), exponent: milli, format };
}

export function isZeroQuantity(quantity: Quantity): boolean {
  return quantity.unscaled === 0n;
}

/** The canonical form; the text a quantity was read from where the API keeps that. */
export function formatQuantity(quantity: Quantity): string {
  if (quantity.text !== undefined) return quantity.text;
  const { unscaled, exponent, format } = quantity;
  if (unscaled === 0n) return "0";
  if (format === "BinarySI") return formatBinary(quantity);
  return formatDecimal(unscaled, exponent, format === "DecimalSI" ? format : "DecimalExponent");
}

interface Scanned {
  readonly text: string;
  readonly negative: boolean;
  readonly whole: string;
  readonly fraction: string;
  readonly suffix: Suffix;
}

function parseSuffix(text: string): Suffix | undefined {
  const decimal = decimalSuffixes.get(text);
  if (decimal !== undefined) return { base: 10, exponent: decimal, format: "DecimalSI" };
  const binary = binarySuffixes.get(text);
  if (binary !== undefined) return { base: 2, exponent: binary, format: "BinarySI" };
  if (!/^[eE][+-]?[0-9]+$/.test(text)) return undefined;
  const digits = text.slice(1);
  const parsed = digits.startsWith("+") ? BigInt(digits.slice(1)) : BigInt(digits);
  if (!isInt64(parsed)) return undefined;
  const exponent = Number(BigInt.asIntN(32, parsed));
  return {
    base: 10,
    exponent: Math.min(Math.max(exponent, -exponentLimit), exponentLimit),
    format: "DecimalExponent",
  };
}

/** The amount as a small quantity; undefined when it has too many digits or is finer than a billionth. */
function smallQuantity({ text, negative, whole, fraction, suffix }: Scanned): Quantity | undefined {
  const isBinary = suffix.base === 2;
  const digits = isBinary ? whole : whole + fraction;
  if (isBinary && fraction !== "") return undefined;
  const spare = isBinary
    ? 14 - digits.length - (suffix.exponent * 3) / 10
    : smallDigits - digits.length;
  const exponent = isBinary ? 0 : suffix.exponent - fraction.length;
  if (spare < 0 || exponent < nano) return undefined;
  const value = BigInt(digits);
  const magnitude = isBinary ? value << BigInt(suffix.exponent) : value;
  const keepsText = isBinary
    ? (value & 7n) !== 0n
    : exponent % 3 === 0 && !digits.endsWith("000") && !digits.startsWith("0");
  return {
    size: "small",
    unscaled: negative ? -magnitude : magnitude,
    exponent,
    format: suffix.format,
    ...(keepsText ? { text } : {}),
  };
}

function bigQuantity({ negative, whole, fraction, suffix }: Scanned): Quantity {
  const isBinary = suffix.base === 2;
  const digits = BigInt(whole + fraction);
  let magnitude = isBinary ? digits << BigInt(suffix.exponent) : digits;
  let exponent = (isBinary ? 0 : suffix.exponent) - fraction.length;
  let format = suffix.format;
  if (magnitude !== 0n) {
    magnitude = rescaleUp(magnitude, exponent, nano);
    exponent = nano;
  }
  if (isBinary && magnitude !== 0n) {
    if (magnitude > maxInt64 * powerOfTen(-nano)) {
      magnitude = maxInt64;
      exponent = 0;
    } else if (magnitude < powerOfTen(-nano)) {
      // Less than one has no binary form.
      format = "DecimalSI";
    }
  }
  return { size: "big", unscaled: negative ? -magnitude : magnitude, exponent, format };
}

function formatBinary(quantity: Quantity): string {
  const { unscaled, exponent } = quantity;
  const whole = rescaleUp(unscaled, exponent, 0);
  const isExact = compareQuantity(wholeQuantity(whole, ""), quantity) === 0;
  if (!isExact || isBelow1024(quantity)) {
    return formatDecimal(unscaled, exponent, "DecimalSI");
  }
  const { rest, times } = withoutFactor(whole, 1024n);
  return `${rest}${binarySuffixOf.get(times * 10) ?? ""}`;
}

function isBelow1024(quantity: Quantity): boolean {
  return (
    compareQuantity(quantity, wholeQuantity(1024n, "")) < 0 &&
    compareQuantity(quantity, wholeQuantity(-1024n, "")) > 0
  );
}

function formatDecimal(
  unscaled: bigint,
  exponent: number,
  format: "DecimalSI" | "DecimalExponent",
): string {
  const { rest, times } = withoutFactor(unscaled, 10n);
  const grown = exponent + times;
  const excess = ((grown % 3) + 3) % 3;
  const mantissa = rest * powerOfTen(excess);
  const power = grown - excess;
  if (format === "DecimalSI") return `${mantissa}${decimalSuffixOf.get(power) ?? ""}`;
  return power === 0 ? `${mantissa}` : `${mantissa}e${power}`;
}

function scaledValue(quantity: Quantity, scale: number): bigint {
  return quantity.size === "small" ? smallValue(quantity, scale) : bigValue(quantity, scale);
}

function smallValue({ unscaled, exponent }: Quantity, scale: number): bigint {
  if (exponent < scale) return rescaleUp(unscaled, exponent, scale);
  const shift = exponent - scale;
  const product = unscaled * powerOfTen(shift);
  if (isInt64(product)) return product;
  // The API machinery's shifts by these widths wrap around; all others stop at zero.
  return [1, 2, 3, 6, 9].includes(shift) && unscaled !== minInt64 ? BigInt.asIntN(64, product) : 0n;
}

function bigValue({ unscaled, exponent }: Quantity, scale: number): bigint {
  const shift = scale - exponent;
  const low = BigInt.asIntN(64, unscaled);
  if (shift <= 0) {
    const factor = -shift <= smallDigits ? powerOfTen(-shift) : minInt64;
    return BigInt.asIntN(64, low * factor);
  }
  const divisor = powerOfTen(shift);
  if (unscaled < maxInt64 && shift <= smallDigits) {
    return low / divisor + (low % divisor === 0n ? 0n : 1n);
  }
  const isRoundedUp = unscaled > 0n && unscaled % divisor !== 0n;
  return BigInt.asIntN(64, unscaled / divisor + (isRoundedUp ? 1n : 0n));
}

/** `unscaled` moved from one exponent to another; what is lost rounds away from zero. */
function rescaleUp(unscaled: bigint, from: number, to: number): bigint {
  if (from >= to) return unscaled * powerOfTen(from - to);
  const divisor = powerOfTen(to - from);
  const quotient = unscaled / divisor;
  if (unscaled % divisor === 0n) return quotient;
  return unscaled < 0n ? quotient - 1n : quotient + 1n;
}

function withoutFactor(value: bigint, factor: bigint): { rest: bigint; times: number } {
  let rest = value;
  let times = 0;
  while (rest !== 0n && rest % factor === 0n) {
    rest /= factor;
    times++;
  }
  return { rest, times };
}

function withoutText({ size, unscaled, exponent, format }: Quantity): Quantity {
  return { size, unscaled, exponent, format };
}

function powerOfTen(exponent: number): bigint {
  return exponent === 0 ? 1n : 10n ** BigInt(exponent);
}

function isInt64(value: bigint): boolean {
  return value >= minInt64 && value <= maxInt64;
}

function inverse(suffixes: ReadonlyMap<string, number>): ReadonlyMap<number, string> {
  return new Map([...suffixes].map(([text, exponent]) => [exponent, text]));
}
