import { printable } from "../output/colour.ts";
import { alignTabs } from "../output/elastic-tabs.ts";

/** Collects lines of "Key:\tvalue" at levels of two spaces each; aligned when it is read. */
export class Outline {
  readonly #lines: string[] = [];

  /** Cells are separated by tabs in the output; what they hold cannot break the layout. */
  line(level: number, ...cells: readonly string[]): void {
    this.#lines.push("  ".repeat(level) + cells.map(printable).join("\t"));
  }

  /** "Key:" before the first value, nothing before the others; "<none>" when there is none. */
  list(level: number, key: string, values: readonly string[]): void {
    const shown = values.length === 0 ? ["<none>"] : values;
    for (const [index, value] of shown.entries()) this.line(level, index === 0 ? key : "", value);
  }

  toString(): string {
    return `${alignTabs(this.#lines.join("\n"))}\n`;
  }
}
