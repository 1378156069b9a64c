// Text from containers, made harmless to look at: no line is longer than a screen can bear, nothing in it moves or hides anything.

/** What is kept of one line. */
export const maxLineLength = 4_000;

/* oxlint-disable no-control-regex -- control characters are what is looked for */

// Control sequences of terminals: colours, cursor, titles. An unfinished one ends with the line.
const sequences =
  /\u001b\[[0-?]*[ -/]*[@-~]?|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?/g;
// The other controls, and what turns the direction of text around.
const controls =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/* oxlint-enable no-control-regex -- from here on there are none */

/** A line as it is shown: without escape sequences, with other controls made visible. */
export function shownLine(line: string): string {
  const cut = line.length > maxLineLength ? line.slice(0, maxLineLength) : line;
  const text = cut.replace(/\r$/, "").replace(sequences, "").replace(controls, visible);
  const left = line.length - cut.length;
  return left > 0 ? `${text}… (${left} more characters)` : text;
}

function visible(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** Cuts a stream of text into lines; of a line that never ends only its beginning is held. */
export class LineCutter {
  #line = "";
  #dropped = 0;

  push(text: string): readonly string[] {
    const lines: string[] = [];
    let start = 0;
    for (;;) {
      const end = text.indexOf("\n", start);
      this.#hold(text.slice(start, end < 0 ? undefined : end));
      if (end < 0) return lines;
      lines.push(this.#take());
      start = end + 1;
    }
  }

  /** What came after the last line. */
  rest(): string | undefined {
    return this.#line === "" ? undefined : this.#take();
  }

  #hold(part: string): void {
    const room = Math.max(maxLineLength - this.#line.length, 0);
    this.#line += part.slice(0, room);
    this.#dropped += Math.max(part.length - room, 0);
  }

  #take(): string {
    const shown = shownLine(this.#line);
    const line = this.#dropped > 0 ? `${shown}… (${this.#dropped} more characters)` : shown;
    this.#line = "";
    this.#dropped = 0;
    return line;
  }
}
