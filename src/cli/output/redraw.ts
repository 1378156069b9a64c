// A block of lines on a terminal that is drawn over the one before.

export interface BlockSize {
  readonly width: number;
  readonly height: number;
}

export interface Drawn {
  /** What is written. */
  readonly text: string;
  /** How many lines the block has now. */
  readonly lines: number;
}

const clearToEndOfLine = "\x1b[K";
const clearBelow = "\x1b[J";

/** The block in the place of one that has so many lines. What does not fit is cut off: a line that wraps would be two. */
export function redraw(
  lines: readonly string[],
  linesBefore: number,
  { width, height }: BlockSize,
): Drawn {
  // The cursor stands in the line below the block.
  const room = Math.max(height - 1, 1);
  const surplus = lines.length - room;
  const shown = surplus <= 0 ? lines : [...lines.slice(0, room - 1), `... and ${surplus + 1} more`];
  const up = linesBefore === 0 ? "" : `\x1b[${linesBefore}A\r`;
  // First erased: after as many characters as the screen is wide, the cursor stands on the last of them still.
  const text = shown.map((line) => `${clearToEndOfLine}${fit(line, width)}\n`).join("");
  return { text: `${up}${text}${clearBelow}`, lines: shown.length };
}

/** The first `width` characters that are seen; colours take no room, and what was cut off ends none. */
function fit(line: string, width: number): string {
  let seen = 0;
  let isColour = false;
  let result = "";
  for (const character of line) {
    if (character === "\x1b") isColour = true;
    if (isColour || seen < width) result += character;
    if (!isColour) seen += 1;
    else if (character === "m") isColour = false;
  }
  return result;
}
