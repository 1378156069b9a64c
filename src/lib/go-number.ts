// Numbers and booleans as the flags of Go programs read them, with their messages.
import { quoteText } from "./go-text.ts";
import { err, ok, type Result } from "./result.ts";

const trueWords: ReadonlySet<string> = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const falseWords: ReadonlySet<string> = new Set(["0", "f", "F", "FALSE", "false", "False"]);

/** Reads "true", "T", "1", "false" and their like. */
export function parseGoBool(text: string): Result<boolean, string> {
  if (trueWords.has(text)) return ok(true);
  if (falseWords.has(text)) return ok(false);
  return err(`strconv.ParseBool: parsing ${quoteText(text)}: invalid syntax`);
}

/** Reads a signed integer whose base is given by its prefix: 10, 0x10, 0b1, 0o7, 07, 1_000. */
export function parseGoInt(text: string, bits: 32 | 64): Result<bigint, string> {
  const failed = (reason: string): Result<bigint, string> =>
    err(`strconv.ParseInt: parsing ${quoteText(text)}: ${reason}`);
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  const size = prefixedSize(text.slice(sign.length));
  if (size === undefined) return failed("invalid syntax");
  const value = sign === "-" ? -size : size;
  return BigInt.asIntN(bits, value) === value ? ok(value) : failed("value out of range");
}

/** Reads an unsigned decimal integer. */
export function parseGoUint(text: string, bits: number): Result<bigint, string> {
  const failed = (reason: string): Result<bigint, string> =>
    err(`strconv.ParseUint: parsing ${quoteText(text)}: ${reason}`);
  if (!/^\d+$/.test(text)) return failed("invalid syntax");
  const value = BigInt(text);
  return value < 2n ** BigInt(bits) ? ok(value) : failed("value out of range");
}

/** Reads a signed decimal integer of 64 bits. */
export function parseGoDecimal(text: string): Result<bigint, string> {
  const failed = (reason: string): Result<bigint, string> =>
    err(`strconv.Atoi: parsing ${quoteText(text)}: ${reason}`);
  if (!/^[+-]?\d+$/.test(text)) return failed("invalid syntax");
  const value = BigInt(text.replace(/^\+/, ""));
  return BigInt.asIntN(64, value) === value ? ok(value) : failed("value out of range");
}

function prefixedSize(text: string): bigint | undefined {
  const lower = text.toLowerCase();
  if (!underscoresAreBetweenDigits(lower)) return undefined;
  const plain = lower.replaceAll("_", "");
  if (/^(?:0x[\da-f]+|0b[01]+|0o[0-7]+|0|[1-9]\d*)$/.test(plain)) return BigInt(plain);
  return /^0[0-7]+$/.test(plain) ? BigInt(`0o${plain.slice(1)}`) : undefined;
}

function underscoresAreBetweenDigits(text: string): boolean {
  if (!text.includes("_")) return true;
  const isPrefixed = /^0[xbo]/.test(text);
  const digits = isPrefixed ? text.slice(1) : text;
  return /^[^_]+(?:_[^_]+)*$/.test(digits);
}
