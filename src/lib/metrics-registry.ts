export interface MetricDefinition {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  /** How much its name and labels may still change, shown in its help text. */
  readonly stability: string;
  readonly labels: readonly string[];
  /** Upper bounds, ascending; Prometheus' defaults when absent. */
  readonly buckets?: readonly number[] | undefined;
  /** Without labels a metric is shown from the start, at zero; this one only once something was counted. */
  readonly onDemand?: boolean | undefined;
}

const usualBuckets: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

type Labels = Readonly<Record<string, string>>;

interface Series {
  readonly labels: Labels;
  /** Of a counter or gauge; the sum of a histogram. */
  value: number;
  count: number;
  /** How many observations fell into each bucket, and above all. */
  readonly counts: number[];
}

/** More of one metric are not counted: labels may hold names that others choose. */
const maxSeries = 10_000;

/** Counters, gauges and histograms by name, and their text form for Prometheus. What it does not know it ignores. */
export class MetricsRegistry {
  readonly #definitions: Readonly<Record<string, MetricDefinition>>;
  readonly #families = new Map<string, Map<string, Series>>();

  constructor(definitions: Readonly<Record<string, MetricDefinition>>) {
    this.#definitions = definitions;
    for (const [name, { labels, onDemand }] of Object.entries(definitions)) {
      if (labels.length === 0 && onDemand !== true) this.#series(name, {});
    }
  }

  increment(name: string, labels: Labels = {}, by = 1): void {
    const series = this.#series(name, labels);
    if (series !== undefined) series.value += by;
  }

  set(name: string, value: number, labels: Labels = {}): void {
    const series = this.#series(name, labels);
    if (series !== undefined) series.value = value;
  }

  observe(name: string, value: number, labels: Labels = {}): void {
    const series = this.#series(name, labels);
    if (series === undefined) return;
    series.value += value;
    series.count += 1;
    const { buckets = usualBuckets } = this.#definitions[name] ?? {};
    const index = buckets.findIndex((bound) => value <= bound);
    const bucket = index === -1 ? buckets.length : index;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
  }

  /** Drops all series of a metric, before those that still matter are set again. */
  reset(name: string): void {
    this.#families.delete(name);
  }

  /** Drops the series of a metric that have all these labels. */
  drop(name: string, labels: Labels): void {
    const family = this.#families.get(name);
    for (const [key, series] of family ?? []) {
      const matches = Object.entries(labels).every(
        ([label, value]) => series.labels[label] === value,
      );
      if (matches) family?.delete(key);
    }
    if (family?.size === 0) this.#families.delete(name);
  }

  /** All that was counted so far under names that pass. */
  text(passes: (name: string) => boolean): string {
    const names = [...this.#families.keys()].filter(passes).toSorted();
    return names.map((name) => this.#familyText(name)).join("");
  }

  #series(name: string, labels: Labels): Series | undefined {
    const definition = this.#definitions[name];
    if (definition === undefined) return undefined;
    const family = this.#families.get(name) ?? new Map<string, Series>();
    this.#families.set(name, family);
    const key = definition.labels.map((label) => labels[label] ?? "").join("\u0000");
    const known = family.get(key);
    if (known !== undefined) return known;
    if (family.size >= maxSeries) return undefined;
    const series = { labels, value: 0, count: 0, counts: [] };
    family.set(key, series);
    return series;
  }

  #familyText(name: string): string {
    const definition = this.#definitions[name];
    if (definition === undefined) return "";
    const { type, help, stability } = definition;
    const lines = [`# HELP ${name} [${stability}] ${help}`, `# TYPE ${name} ${type}`];
    for (const series of this.#families.get(name)?.values() ?? []) {
      lines.push(...seriesLines(name, definition, series));
    }
    return `${lines.join("\n")}\n`;
  }
}

function seriesLines(name: string, definition: MetricDefinition, series: Series): string[] {
  const labels = definition.labels.map((label): readonly [string, string] => [
    label,
    series.labels[label] ?? "",
  ]);
  if (definition.type !== "histogram") return [`${name}${labelText(labels)} ${series.value}`];
  let total = 0;
  const buckets = (definition.buckets ?? usualBuckets).map((bound, index) => {
    total += series.counts[index] ?? 0;
    return `${name}_bucket${labelText([...labels, ["le", boundText(bound)]])} ${total}`;
  });
  return [
    ...buckets,
    `${name}_bucket${labelText([...labels, ["le", "+Inf"]])} ${series.count}`,
    `${name}_sum${labelText(labels)} ${series.value}`,
    `${name}_count${labelText(labels)} ${series.count}`,
  ];
}

/** As programs in Go write it, since queries name buckets by their text: 2.592e+06. */
function boundText(bound: number): string {
  const [digits = "", exponent = ""] = bound.toExponential().split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(bound);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function labelText(labels: readonly (readonly [string, string])[]): string {
  if (labels.length === 0) return "";
  const parts = labels.map(([label, value]) => `${label}="${escapeLabel(value)}"`);
  return `{${parts.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
