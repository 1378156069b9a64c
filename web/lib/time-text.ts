// Times as people read them, in the zone of their browser.

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const date = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

/** "Nov 19 21:03:07" */
export function timeText(ms: number): string {
  return `${date.format(ms)} ${clock.format(ms)}`;
}

/** "21:03:07" */
export function clockText(ms: number): string {
  return clock.format(ms);
}

/** As an input field for times has it. */
export function toFieldTime(ms: number): string {
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/** Undefined where the field is empty. */
export function fromFieldTime(text: string): number | undefined {
  const ms = new Date(text).getTime();
  return Number.isNaN(ms) ? undefined : ms;
}
