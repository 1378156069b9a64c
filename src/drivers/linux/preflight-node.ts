import { type CheckResult, passed, warning } from "../../lib/check-result.ts";

/** The last day on which defects of a release line are mended, from Node.js' own schedule. */
const lastDays = new Map([
  [20, "2026-04-30"],
  [21, "2024-06-01"],
  [22, "2027-04-30"],
  [23, "2025-06-01"],
  [24, "2028-04-30"],
  [25, "2026-06-01"],
  [26, "2029-04-30"],
]);
const name = "Node.js";
const msPerDay = 86_400_000;

/** Node.js reads what strangers send: defects of one that is no longer maintained stay open. `version` as in process.version. */
export function checkNode(version: string, nowMs: number): CheckResult {
  const lastDay = lastDays.get(Number(/^v(\d+)\./.exec(version)?.[1]));
  if (lastDay === undefined || nowMs < Date.parse(lastDay) + msPerDay) return passed(name, version);
  return warning(
    name,
    `${version} has had no security fixes since ${lastDay}`,
    "install Node.js 24, which is maintained until 2028-04-30, or the Debian package of Berth, which brings one",
  );
}
