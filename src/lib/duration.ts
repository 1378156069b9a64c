const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

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

/** "90s", "1h30m", "500ms" or a bare number of seconds to milliseconds; undefined when it is none. */
export function parseDuration(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text) * secondMs;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/gy)) {
    total += Number(count) * unitMs(unit ?? "");
  }
  return total;
}

function unitMs(unit: string): number {
  if (unit === "ms") return 1;
  if (unit === "s") return secondMs;
  return unit === "m" ? minuteMs : hourMs;
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
