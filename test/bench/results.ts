/** One thing that is measured. */
export interface Metric {
  readonly id: string;
  /** The letter of its case. */
  readonly case: string;
  readonly title: string;
  readonly unit: "ms" | "MiB" | "s/min" | "/min" | "%";
}

/** What is known of one subject (the floor, Berth, a peer) in one metric. */
export interface Summary {
  readonly median: number;
  readonly p90: number;
  readonly n: number;
  readonly values: readonly number[];
  /** Of the ways in which the floor was measured, the best. */
  readonly variant?: string;
}

export interface MetricResult extends Metric {
  readonly subjects: Readonly<Record<string, Summary>>;
}

/** The subject that makes the bare calls. */
export const floor = "floor";

/** Keeps what was measured, in the order in which metrics were first seen. */
export class Results {
  readonly #metrics = new Map<string, Metric>();
  readonly #values = new Map<string, Map<string, Map<string, number[]>>>();

  /** `variant`: of several ways of measuring it, the one with the lowest median counts. */
  record(metric: Metric, subject: string, value: number, variant = ""): void {
    this.#metrics.set(metric.id, this.#metrics.get(metric.id) ?? metric);
    const subjects = entry(this.#values, metric.id, () => new Map<string, Map<string, number[]>>());
    const variants = entry(subjects, subject, () => new Map<string, number[]>());
    entry(variants, variant, () => []).push(value);
  }

  summary(): readonly MetricResult[] {
    return [...this.#metrics.values()]
      .toSorted((a, b) => (a.case < b.case ? -1 : Number(a.case > b.case)))
      .map((metric) => {
        const subjects = [...(this.#values.get(metric.id) ?? [])].map(
          ([subject, variants]) => [subject, best(variants)] as const,
        );
        return { ...metric, subjects: Object.fromEntries(subjects) };
      });
  }
}

function best(variants: ReadonlyMap<string, readonly number[]>): Summary {
  const summaries = [...variants].map(([variant, values]) => ({
    ...summarise(values),
    ...(variant !== "" && { variant }),
  }));
  const [first = summarise([])] = summaries.toSorted((a, b) => a.median - b.median);
  return first;
}

function summarise(values: readonly number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    median: quantile(sorted, 0.5),
    p90: quantile(sorted, 0.9),
    n: values.length,
    values: values.map((value) => Math.round(value * 100) / 100),
  };
}

function quantile(sorted: readonly number[], part: number): number {
  const at = (sorted.length - 1) * part;
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  const high = sorted[Math.ceil(at)] ?? Number.NaN;
  return Math.round((low + (high - low) * (at - Math.floor(at))) * 100) / 100;
}

function entry<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const created = create();
  map.set(key, created);
  return created;
}
