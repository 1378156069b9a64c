// Aligns tab-separated text: cells of neighbouring lines form a column for as long as each line has one.

const padding = 2;

/** A tab ends a cell; what follows the last tab of a line belongs to no column. */
export function alignTabs(text: string): string {
  const lines = text.split("\n").map((line) => line.split("\t"));
  const widths = lines.map((): number[] => []);
  alignColumn(lines, widths, 0, [0, lines.length]);
  return lines
    .map((cells, line) =>
      cells
        .map((cell, column) =>
          column === cells.length - 1 ? cell : cell.padEnd(widths[line]?.[column] ?? 0),
        )
        .join("")
        .trimEnd(),
    )
    .join("\n");
}

/** Sets the widths of one column in a range of lines, then of the columns to its right, block by block. */
function alignColumn(
  lines: readonly (readonly string[])[],
  widths: readonly number[][],
  column: number,
  [from, to]: readonly [number, number],
): void {
  const hasCell = (line: number): boolean => (lines[line]?.length ?? 0) > column + 1;
  for (let start = from; start < to; start++) {
    if (!hasCell(start)) continue;
    let end = start;
    let widest = 0;
    for (; end < to && hasCell(end); end++) {
      widest = Math.max(widest, lines[end]?.[column]?.length ?? 0);
    }
    for (let line = start; line < end; line++) widths[line]?.push(widest + padding);
    alignColumn(lines, widths, column + 1, [start, end]);
    start = end;
  }
}
