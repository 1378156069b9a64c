// How explanations and history word times and parts.
import { formatAge } from "../../lib/duration.ts";
import { formatTime } from "../../lib/time.ts";
import type { Paint } from "../output/colour.ts";

export function section(paint: Paint, title: string, lines: readonly string[]): string[] {
  return ["", paint("bold", title), ...lines.map((line) => `  ${line}`)];
}

/** "12s ago (2026-01-01T00:00:00Z)" */
export function ago(ms: number, nowMs: number): string {
  return `${formatAge(nowMs - ms)} ago (${formatTime(ms)})`;
}

/** "2026-01-01T00:00:00Z (in 12s)" */
export function moment(ms: number, nowMs: number): string {
  const relative = ms >= nowMs ? `in ${formatAge(ms - nowMs)}` : `${formatAge(nowMs - ms)} ago`;
  return `${formatTime(ms)} (${relative})`;
}

export function milliseconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)}ms` : `${(ms / 1000).toFixed(1)}s`;
}
