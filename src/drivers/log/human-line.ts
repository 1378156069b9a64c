import { parseJsonText } from "../../lib/json-text.ts";

const levelColours: Readonly<Record<string, string>> = {
  debug: "2",
  info: "32",
  warn: "33",
  error: "31",
};
const dim = "2";
const bold = "1";

/** A record as one line for people: time, level, what happened, to which pod and container, and the rest as key=value. */
export function humanLine(json: string, colours: boolean): string {
  const parsed: unknown = parseJsonText(json);
  const { time, level, msg, pod, container, ...fields } = parsed as Readonly<
    Record<string, unknown>
  >;
  const paint = (code: string | undefined, text: string): string =>
    colours && code !== undefined ? `\x1b[${code}m${text}\x1b[0m` : text;
  const name = String(level);
  const subject = [pod, container].filter((part) => part !== undefined).map(fieldText);
  const rest = Object.entries(fields).map(
    ([key, value]) => `${paint(dim, `${escaped(key)}=`)}${fieldText(value)}`,
  );
  const words = [
    paint(dim, String(time).slice(11, 19)),
    paint(levelColours[name], name.toUpperCase().padEnd(5)),
    escaped(String(msg)),
    ...(subject.length === 0 ? [] : [paint(bold, subject.join("/"))]),
    ...rest,
  ];
  return `${words.join(" ")}\n`;
}

function fieldText(value: unknown): string {
  if (typeof value === "object" && value !== null && "message" in value) {
    return escaped(JSON.stringify(value.message) ?? "undefined");
  }
  // Quoted where a space or a control character would blur or forge the line.
  if (typeof value === "string" && /^[^\s"\p{C}]+$/u.test(value)) return value;
  return escaped(JSON.stringify(value) ?? "undefined");
}

/** What moves the cursor, begins a line or turns the direction of reading is shown as its number. */
function escaped(text: string): string {
  return text.replaceAll(/[\p{C}\u2028\u2029]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}
