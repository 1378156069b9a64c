import { parseTime } from "../../lib/time.ts";

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** A time of the API in this machine's zone: "Thu, 01 Jan 2026 00:00:00 +0000". */
export function formatLocalTime(time: string | undefined): string {
  const ms = time === undefined ? undefined : parseTime(time);
  if (ms === undefined) return "<unknown>";
  const date = new Date(ms);
  const offset = -date.getTimezoneOffset();
  const zone = `${offset < 0 ? "-" : "+"}${two(Math.floor(Math.abs(offset) / 60))}${two(Math.abs(offset) % 60)}`;
  const day = `${weekdays[date.getDay()]}, ${two(date.getDate())} ${months[date.getMonth()]} ${date.getFullYear()}`;
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${day} ${clock} ${zone}`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
