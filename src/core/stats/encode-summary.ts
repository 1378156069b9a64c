import { formatTime } from "../../lib/time.ts";
import type { Summary } from "../../model/stats-summary.ts";

const wireNames: ReadonlyMap<string, string> = new Map([
  ["timeMs", "time"],
  ["startTimeMs", "startTime"],
  ["volumeStats", "volume"],
  ["ephemeralStorage", "ephemeral-storage"],
  ["processStats", "process_stats"],
  ["processCount", "process_count"],
  ["maxPid", "maxpid"],
  ["runningProcesses", "curproc"],
]);

/** The summary as /stats/summary answers it, ready for JSON. */
export function encodeSummary(summary: Summary): unknown {
  return encodeValue(summary);
}

function encodeValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(encodeValue);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    entries.map(([name, member]) => [
      wireNames.get(name) ?? name,
      typeof member === "number" && name.endsWith("imeMs")
        ? formatTime(member)
        : encodeValue(member),
    ]),
  );
}
