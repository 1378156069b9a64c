// The last lines of a log, in blocks: a block that is full never changes, so that it is drawn once.

export const maxLines = 10_000;
const blockLines = 200;

export interface LogLine {
  readonly text: string;
  /** Not the container's: what the page says between its lines. */
  readonly isNote: boolean;
}

export interface LogBlock {
  readonly id: number;
  readonly lines: readonly LogLine[];
}

export interface LogContent {
  readonly blocks: readonly LogBlock[];
  readonly count: number;
  /** So many older lines were let go. */
  readonly dropped: number;
}

export const emptyLog: LogContent = { blocks: [], count: 0, dropped: 0 };

/** With more lines at its end, and without the oldest ones if there are too many. */
export function withLines(log: LogContent, lines: readonly LogLine[]): LogContent {
  if (lines.length === 0) return log;
  const blocks = [...log.blocks];
  let count = log.count + lines.length;
  let rest = lines;
  const last = blocks.at(-1);
  if (last !== undefined && last.lines.length < blockLines) {
    const room = blockLines - last.lines.length;
    blocks[blocks.length - 1] = { id: last.id, lines: [...last.lines, ...rest.slice(0, room)] };
    rest = rest.slice(room);
  }
  let id = (last?.id ?? -1) + 1;
  for (let start = 0; start < rest.length; start += blockLines) {
    blocks.push({ id: id++, lines: rest.slice(start, start + blockLines) });
  }
  let dropped = log.dropped;
  while (count > maxLines && blocks.length > 1) {
    const gone = blocks.shift()?.lines.length ?? 0;
    count -= gone;
    dropped += gone;
  }
  return { blocks, count, dropped };
}

/** Where a text stands in a line, without regard to case. */
export function findText(line: string, wanted: string): readonly (readonly [number, number])[] {
  if (wanted === "") return [];
  const lowered = line.toLowerCase();
  // A few letters change their length with their case: then places would be wrong.
  if (lowered.length !== line.length) return line.includes(wanted) ? [[0, line.length]] : [];
  const needle = wanted.toLowerCase();
  const found: [number, number][] = [];
  for (
    let at = lowered.indexOf(needle);
    at >= 0;
    at = lowered.indexOf(needle, at + needle.length)
  ) {
    found.push([at, at + needle.length]);
  }
  return found;
}
