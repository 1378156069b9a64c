// Times in log files: nanoseconds matter, and a zone is shown as it was written.

export interface LogTime {
  readonly unixSeconds: number;
  readonly nanoseconds: number;
  /** With nine digits of fraction, in the zone it was written in. */
  readonly text: string;
}

/** What a record without a time counts as. */
export const zeroLogTime: LogTime = {
  unixSeconds: -62_135_596_800,
  nanoseconds: 0,
  text: "0001-01-01T00:00:00.000000000Z",
};

const pattern =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** RFC 3339 as the kubelet reads it: an hour of one digit, a comma and a zone of up to 24:60 pass. */
export function parseLogTime(text: string): LogTime | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction, sign, zoneHour, zoneMinute] = match;
  const days = unixDays(Number(year), Number(month), Number(day));
  if (days === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) {
    return undefined;
  }
  if (Number(zoneHour ?? 0) > 24 || Number(zoneMinute ?? 0) > 60) return undefined;
  const offsetMinutes = Number(zoneHour ?? 0) * 60 + Number(zoneMinute ?? 0);
  const clock = Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  const digits = (fraction ?? "").slice(0, 9).padEnd(9, "0");
  const signed = sign === "-" ? -offsetMinutes : offsetMinutes;
  return {
    unixSeconds: days * 86_400 + clock - signed * 60,
    nanoseconds: Number(digits),
    text: `${year}-${month}-${day}T${hour?.padStart(2, "0")}:${minute}:${second}.${digits}${zoneText(sign, offsetMinutes)}`,
  };
}

export function isBefore(time: LogTime, other: LogTime): boolean {
  if (time.unixSeconds !== other.unixSeconds) return time.unixSeconds < other.unixSeconds;
  return time.nanoseconds < other.nanoseconds;
}

function zoneText(sign: string | undefined, offsetMinutes: number): string {
  if (sign === undefined || offsetMinutes === 0) return "Z";
  const hours = String(Math.floor(offsetMinutes / 60)).padStart(2, "0");
  return `${sign}${hours}:${String(offsetMinutes % 60).padStart(2, "0")}`;
}

/** Days since 1970 of a date of the Gregorian calendar; undefined when there is no such date. */
function unixDays(year: number, month: number, day: number): number | undefined {
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  // Years that begin in March have their leap day last, so that month lengths follow one formula.
  const marchYear = month > 2 ? year : year - 1;
  const marchMonth = (month + 9) % 12;
  const leapDays =
    Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  return marchYear * 365 + leapDays + Math.floor((marchMonth * 153 + 2) / 5) + day - 719_469;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
