import type { Colour, Paint } from "./colour.ts";

/** Spaces between columns, as kubectl has them. */
const gap = 3;

/** Pads every column but the last to its widest cell. */
export function alignColumns(rows: readonly (readonly string[])[], widths?: number[]): string[] {
  const kept = widths ?? [];
  for (const row of rows) growWidths(kept, row);
  return rows.map((row) => formatRow(row, kept));
}

/** A table that grows: rows that come later keep to the columns, as far as they fit. */
export class Table {
  readonly #statusColumn: number;
  readonly #paint: Paint;
  readonly #widths: number[] = [];
  #header: readonly (readonly string[])[];

  /** The cells under STATUS are painted. */
  constructor(columns: readonly string[], showHeader: boolean, paint: Paint) {
    this.#header = showHeader ? [columns] : [];
    this.#paint = paint;
    this.#statusColumn = columns.indexOf("STATUS");
  }

  /** The lines of these rows, with the header before the first ones. */
  lines(rows: readonly (readonly string[])[]): string[] {
    const shown = [...this.#header, ...rows];
    const headerLines = this.#header.length;
    this.#header = [];
    return alignColumns(shown, this.#widths).map((line, index) =>
      index < headerLines ? line : this.#paintStatus(line, shown[index] ?? []),
    );
  }

  #paintStatus(line: string, row: readonly string[]): string {
    const status = row[this.#statusColumn];
    if (status === undefined) return line;
    const start = this.#widths
      .slice(0, this.#statusColumn)
      .reduce((sum, width) => sum + width + gap, 0);
    const end = start + status.length;
    return line.slice(0, start) + this.#paint(statusColour(status), status) + line.slice(end);
  }
}

function growWidths(widths: number[], row: readonly string[]): void {
  for (const [index, cell] of row.entries()) {
    widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
}

function formatRow(row: readonly string[], widths: readonly number[]): string {
  const last = row.length - 1;
  return row
    .map((cell, index) => (index === last ? cell : cell.padEnd((widths[index] ?? 0) + gap)))
    .join("");
}

function statusColour(status: string): Colour | undefined {
  if (status === "Running") return "green";
  if (status === "Completed" || status === "Succeeded") return "dim";
  if (/Error|BackOff|Err|Failed|Evicted|OOM|Invalid|Unknown|Signal|ExitCode/.test(status)) {
    return "red";
  }
  return "yellow";
}
