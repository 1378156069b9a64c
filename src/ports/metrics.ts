import type { MetricName } from "../model/generated/metrics.ts";

type MetricLabels = Readonly<Record<string, string>>;

/** Counts and measures under upstream's metric names, or Berth's own. Costs next to nothing per call and never throws. */
export interface Metrics {
  increment(name: MetricName, labels?: MetricLabels, by?: number): void;
  set(name: MetricName, value: number, labels?: MetricLabels): void;
  /** Adds one observation to a histogram; durations are seconds. */
  observe(name: MetricName, value: number, labels?: MetricLabels): void;
  /** Drops all series of a metric, before those that still matter are set again. */
  reset(name: MetricName): void;
  /** Drops the series of a metric that have all these labels: what they describe is gone. */
  drop(name: MetricName, labels: MetricLabels): void;
}
