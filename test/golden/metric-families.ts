/** What a page of metrics says of one family, without values. */
export interface MetricFamily {
  readonly type: string;
  readonly stability?: string | undefined;
  /** The names of the labels that its series have. */
  readonly labels: readonly string[];
  /** The upper bounds of a histogram. */
  readonly buckets?: readonly string[] | undefined;
}

interface Builder {
  type: string;
  stability: string;
  readonly labels: Set<string>;
  readonly buckets: Set<string>;
}

// What the text format adds to series of histograms and summaries.
const FORMAT_LABELS: ReadonlySet<string> = new Set(["le", "quantile"]);

/** The families of a page in the text format, by name. */
export function parseMetricFamilies(page: string): ReadonlyMap<string, MetricFamily> {
  const families = new Map<string, Builder>();
  for (const line of page.split("\n")) {
    const help = /^# HELP (\S+) (?:\[(\w+)\])?/.exec(line);
    const type = /^# TYPE (\S+) (\w+)$/.exec(line);
    const series = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? \S/.exec(line);
    if (help !== null) familyOf(families, help[1]).stability = help[2] ?? "";
    else if (type !== null) familyOf(families, type[1]).type = type[2] ?? "";
    else if (series !== null) addSeries(families, series[1] ?? "", series[2] ?? "");
  }
  return new Map([...families].map(([name, family]) => [name, finished(family)]));
}

function familyOf(families: Map<string, Builder>, name = ""): Builder {
  const known = families.get(name);
  if (known !== undefined) return known;
  const made: Builder = { type: "", stability: "", labels: new Set(), buckets: new Set() };
  families.set(name, made);
  return made;
}

function addSeries(families: Map<string, Builder>, name: string, labels: string): void {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ""));
  if (family === undefined) return;
  for (const [, label = "", value = ""] of labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
    if (label === "le") family.buckets.add(value);
    if (!FORMAT_LABELS.has(label)) family.labels.add(label);
  }
}

function finished({ type, stability, labels, buckets }: Builder): MetricFamily {
  return {
    type,
    stability,
    labels: [...labels].toSorted(),
    buckets: buckets.size === 0 ? undefined : [...buckets],
  };
}
