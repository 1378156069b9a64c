export type MetricLabels = Readonly<Record<string, string>>;

/** Counts and measures under upstream's metric names. Costs next to nothing per call and never throws. */
export interface Metrics {
  increment(name: string, labels?: MetricLabels, by?: number): void;
  set(name: string, value: number, labels?: MetricLabels): void;
  /** Adds one observation to a histogram or summary; durations are seconds. */
  observe(name: string, value: number, labels?: MetricLabels): void;
}
