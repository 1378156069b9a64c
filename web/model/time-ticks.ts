// Where the marks of a time axis stand.

export interface Tick {
  readonly atMs: number;
  readonly text: string;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const steps: readonly number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((count) => count),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 7, 14, 28].map((count) => count * day),
];

/** At most one in `everyPx`, at times that people count in. */
export function timeTicks(
  {
    startMs,
    endMs,
    width,
  }: { readonly startMs: number; readonly endMs: number; readonly width: number },
  everyPx = 110,
): readonly Tick[] {
  const leastMs = ((endMs - startMs) / width) * everyPx;
  const stepMs = steps.find((step) => step >= leastMs) ?? Math.ceil(leastMs / day) * day;
  const offsetMs = new Date(startMs).getTimezoneOffset() * minute;
  const ticks: Tick[] = [];
  for (
    let atMs = Math.ceil((startMs - offsetMs) / stepMs) * stepMs + offsetMs;
    atMs <= endMs;
    atMs += stepMs
  ) {
    ticks.push({ atMs, text: tickText(atMs, stepMs) });
  }
  return ticks;
}

function tickText(atMs: number, stepMs: number): string {
  if (stepMs >= day) return dayText(atMs);
  const text = clockText(atMs, stepMs < second ? "ms" : stepMs < minute ? "s" : "min");
  return text === "00:00" ? dayText(atMs) : text;
}

function dayText(atMs: number): string {
  const date = new Date(atMs);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The time of day, where the browser is. */
export function clockText(atMs: number, to: "ms" | "s" | "min" = "s"): string {
  const date = new Date(atMs);
  const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (to === "min") return minutes;
  const seconds = `${minutes}:${two(date.getSeconds())}`;
  return to === "s" ? seconds : `${seconds}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** Day and time, where the browser is. */
export function dateText(atMs: number): string {
  return `${dayText(atMs)} ${clockText(atMs)}`;
}

/** How long something took, in two units at most. */
export function lengthText(ms: number): string {
  if (ms < second) return `${Math.round(ms)} ms`;
  if (ms < 10 * second) return `${(ms / second).toFixed(1)} s`;
  if (ms < minute) return `${Math.round(ms / second)} s`;
  const [large, small, largeName, smallName]: readonly [number, number, string, string] =
    ms < hour
      ? [minute, second, "min", "s"]
      : ms < day
        ? [hour, minute, "h", "min"]
        : [day, hour, "d", "h"];
  const whole = Math.floor(ms / large);
  const rest = Math.floor((ms - whole * large) / small);
  return rest === 0 ? `${whole} ${largeName}` : `${whole} ${largeName} ${rest} ${smallName}`;
}

function two(count: number): string {
  return String(count).padStart(2, "0");
}
