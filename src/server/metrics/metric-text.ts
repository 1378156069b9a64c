/** One measured value of a family. */
export interface MetricSample {
  /** As `labelText` writes them. */
  readonly labels: string;
  readonly value: number;
  /** When it was measured; now, where absent. */
  readonly timeMs?: number | undefined;
}

interface FamilyText {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
}

export interface MetricFamily extends FamilyText {
  readonly samples: readonly MetricSample[];
}

/** A family whose samples are made only when it is its turn. */
export interface LateFamily extends FamilyText {
  readonly readSamples: () => Iterable<MetricSample>;
}

/** Some milliseconds' work. */
const linesAtOnce = 1000;

/** Families in Prometheus' text format, by name; one without samples is left out. */
export function formatMetrics(families: readonly MetricFamily[]): string {
  return families.toSorted(byName).map(formatFamily).join("");
}

/** The same of a page so large that others must get their turn while it is made: `pause` lets them. */
export async function formatLargePage(
  families: readonly LateFamily[],
  pause: () => Promise<void>,
): Promise<string> {
  const parts: string[] = [];
  for (const family of families.toSorted(byName)) {
    const lines: string[] = [];
    for (const sample of family.readSamples()) {
      lines.push(sampleLine(family.name, sample));
      if (lines.length % linesAtOnce === 0) await pause();
    }
    parts.push(familyText(family, lines));
    await pause();
  }
  return parts.join("");
}

function byName(a: FamilyText, b: FamilyText): number {
  return a.name < b.name ? -1 : 1;
}

function formatFamily(family: MetricFamily): string {
  const lines = family.samples.map((sample) => sampleLine(family.name, sample));
  return familyText(family, lines);
}

function sampleLine(name: string, { labels, value, timeMs }: MetricSample): string {
  const time = timeMs === undefined ? "" : ` ${Math.trunc(timeMs)}`;
  return `${name}${labels} ${formatNumber(value)}${time}`;
}

function familyText({ name, help, type }: FamilyText, lines: readonly string[]): string {
  if (lines.length === 0) return "";
  const text = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return `${[`# HELP ${name} ${text}`, `# TYPE ${name} ${type}`, ...sorted(lines)].join("\n")}\n`;
}

/** Most families have their samples in order: looking is cheaper than sorting. */
function sorted(lines: readonly string[]): readonly string[] {
  const isSorted = lines.every((line, index) => index === 0 || (lines[index - 1] ?? "") <= line);
  return isSorted ? lines : lines.toSorted();
}

/** Labels as they stand behind a name: sorted, in braces; nothing where there are none. */
export function labelText(labels: Readonly<Record<string, string>>): string {
  return inBraces(labelParts(labels).map(({ text }) => text));
}

/** The labels of a series in many families, in some of them with more that distinguish its samples, such as a device. */
export class SeriesLabels {
  readonly text: string;
  readonly #names: readonly string[];
  readonly #texts: readonly string[];

  constructor(labels: Readonly<Record<string, string>>) {
    const parts = labelParts(labels);
    this.#names = parts.map(({ name }) => name);
    this.#texts = parts.map(({ text }) => text);
    this.text = inBraces(this.#texts);
  }

  textWith(more: Readonly<Record<string, string>>): string {
    const texts = [...this.#texts];
    for (const [added, { name, text }] of labelParts(more).entries()) {
      const before = this.#names.findIndex((own) => own > name);
      texts.splice((before < 0 ? this.#names.length : before) + added, 0, text);
    }
    return inBraces(texts);
  }
}

function inBraces(texts: readonly string[]): string {
  return texts.length === 0 ? "" : `{${texts.join(",")}}`;
}

/** Sorted by name. */
function labelParts(
  labels: Readonly<Record<string, string>>,
): readonly { readonly name: string; readonly text: string }[] {
  return Object.entries(labels)
    .map(([name, value]) => ({ name, text: `${name}="${escapeValue(value)}"` }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function escapeValue(value: string): string {
  if (!/["\\\n]/.test(value)) return value;
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

/** The shortest text of a number, with an exponent of two digits from a million on. */
function formatNumber(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}
