/** Milliseconds since 1970 as RFC 3339 with second resolution, as the Kubernetes API writes times. */
export function formatTime(ms: number): string {
  return `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, -".000Z".length)}Z`;
}

/** Milliseconds since 1970 as RFC 3339 with nanosecond digits (sub-millisecond fractions are kept to 100 ns). */
export function formatTimeNano(ms: number): string {
  const whole = Math.floor(ms);
  const fraction = String(Math.round((ms - whole) * 1_000_000)).padStart(6, "0");
  return new Date(whole).toISOString().replace("Z", `${fraction}Z`);
}

/** Milliseconds since 1970 as RFC 3339 with six digits of a second, as leases have them. */
export function formatTimeMicro(ms: number): string {
  return formatTimeNano(ms).replace(/\d{3}Z$/, "Z");
}

/** RFC 3339 to milliseconds since 1970; undefined when it is not a time. */
export function parseTime(text: string): number | undefined {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
