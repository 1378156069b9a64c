// Text as the Go programs of Kubernetes write it, for messages and stored values that must be equal to theirs.

const escaped = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
]);

/** The text in double quotes, with everything escaped that does not print. */
export function quoteText(text: string): string {
  return `"${text.replace(escaped, escapeCharacter)}"`;
}

/** JSON with the characters escaped that could end an HTML script. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${hex(character.charCodeAt(0), 4)}`,
  );
}

/** Milliseconds as a duration: hours, minutes and seconds, or only ms below one second. */
export function durationText(ms: number): string {
  if (ms === 0) return "0s";
  const sign = ms < 0 ? "-" : "";
  const size = Math.abs(ms);
  if (size < 1000) return `${sign}${size}ms`;
  const hours = Math.floor(size / 3_600_000);
  const minutes = Math.floor(size / 60_000) % 60;
  const seconds = (size % 60_000) / 1000;
  const hoursText = hours > 0 ? `${hours}h` : "";
  const minutesText = hours > 0 || minutes > 0 ? `${minutes}m` : "";
  return `${sign}${hoursText}${minutesText}${seconds}s`;
}

function escapeCharacter(character: string): string {
  const short = shortEscapes.get(character);
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20 || code === 0x7f) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
