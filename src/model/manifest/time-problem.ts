import { quoteText } from "../../lib/go-text.ts";

const layout = "2006-01-02T15:04:05Z07:00";

// The parts of a time in their order: how the layout writes them, what they look like, and their range.
const parts: readonly Part[] = [
  { shown: "2006", form: /^\d{4}/ },
  { shown: "-", form: /^-/ },
  { shown: "01", form: /^\d\d/, range: { name: "month", min: 1, max: 12 } },
  { shown: "-", form: /^-/ },
  { shown: "02", form: /^\d\d/ },
  { shown: "T", form: /^T/ },
  { shown: "15", form: /^\d\d/, range: { name: "hour", min: 0, max: 23 } },
  { shown: ":", form: /^:/ },
  { shown: "04", form: /^\d\d/, range: { name: "minute", min: 0, max: 59 } },
  { shown: ":", form: /^:/ },
  { shown: "05", form: /^\d\d(?:[.,]\d+)?/, range: { name: "second", min: 0, max: 59 } },
  { shown: "Z07:00", form: /^(?:Z|[+-](?:[01]\d|2[0-4]):[0-5]\d)/ },
];

interface Part {
  readonly shown: string;
  readonly form: RegExp;
  readonly range?: { readonly name: string; readonly min: number; readonly max: number };
}

/** Why a text is not an RFC 3339 time, in the words of the API machinery; undefined when it is one. */
export function timeProblem(text: string): string | undefined {
  let rest = text;
  let outOfRange: string | undefined;
  for (const { shown, form, range } of parts) {
    const found = form.exec(rest)?.[0];
    if (found === undefined) {
      return `parsing time ${quoteText(text)} as "${layout}": cannot parse ${quoteText(rest)} as "${shown}"`;
    }
    rest = rest.slice(found.length);
    const number = Math.floor(Number(found.replace(",", ".")));
    if (range !== undefined && (number < range.min || number > range.max)) {
      outOfRange = range.name;
      break;
    }
  }
  if (outOfRange === undefined && rest !== "") {
    return `parsing time ${quoteText(text)}: extra text: ${quoteText(rest)}`;
  }
  if (outOfRange === undefined && !isDayOfMonth(text)) outOfRange = "day";
  if (outOfRange === undefined) return undefined;
  return `parsing time ${quoteText(text)}: ${outOfRange} out of range`;
}

function isDayOfMonth(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split("-").map(Number);
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  return day >= 1 && day <= days;
}
