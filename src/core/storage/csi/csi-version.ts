import { quoteText } from "../../../lib/go-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";

/** A version of the CSI that a driver supports: its numbers, in order. */
export interface CsiVersion {
  readonly components: readonly bigint[];
}

const versionPattern = /^[\t\n\f\r ]*v?(\d+(?:\.\d+)*)/;
const maxComponent = 2n ** 64n - 1n;

/** The highest of the versions that a driver reports; it must be 1.x, and higher ones are passed over. */
export function highestCsiVersion(versions: readonly string[]): Result<CsiVersion, string> {
  let highest: CsiVersion | undefined;
  let problem = "<nil>";
  for (const text of versions.toReversed()) {
    const version = parseVersion(text);
    if (!version.ok) problem = version.error;
    else if (majorOf(version.value) > 1n) continue;
    else if (highest === undefined || isLower(highest, version.value)) highest = version.value;
  }
  if (highest === undefined) {
    const listed = `[${versions.join(" ")}]`;
    return err(
      `could not find a highest supported version from versions (${listed}) reported: ${problem}`,
    );
  }
  if (majorOf(highest) !== 1n) {
    return err(`highest supported version reported is ${csiVersionText(highest)}, must be v1.x`);
  }
  return ok(highest);
}

/** Missing numbers count as zeros. */
export function isLower(one: CsiVersion, other: CsiVersion): boolean {
  const length = Math.max(one.components.length, other.components.length);
  for (let index = 0; index < length; index++) {
    const difference = (one.components[index] ?? 0n) - (other.components[index] ?? 0n);
    if (difference !== 0n) return difference < 0n;
  }
  return false;
}

export function csiVersionText({ components }: CsiVersion): string {
  return components.join(".");
}

function majorOf({ components }: CsiVersion): bigint {
  return components[0] ?? 0n;
}

/** At least two numbers with dots between them; what follows them does not count. Errors are worded as upstream's. */
function parseVersion(text: string): Result<CsiVersion, string> {
  const [all = "", numbers] = versionPattern.exec(text) ?? [];
  const isOneLine = !text.includes("\n", all.length);
  if (numbers === undefined || !isOneLine)
    return err(`could not parse ${quoteText(text)} as version`);
  const parts = numbers.split(".");
  if (parts.length < 2) return err(`illegal version string ${quoteText(text)}`);
  const [major = ""] = parts;
  if (major.startsWith("0") && major !== "0") {
    const component = quoteText(major);
    return err(`illegal zero-prefixed version component ${component} in ${quoteText(text)}`);
  }
  const tooLarge = parts.find((part) => BigInt(part) > maxComponent);
  if (tooLarge !== undefined) {
    const component = quoteText(tooLarge);
    const reason = `strconv.ParseUint: parsing ${component}: value out of range`;
    return err(
      `illegal non-numeric version component ${component} in ${quoteText(text)}: ${reason}`,
    );
  }
  return ok({ components: parts.map(BigInt) });
}
