import type { MetricName } from "../model/generated/metrics.ts";
import type { Log, LogFields } from "./log.ts";

/** One change of a metric. */
export interface MetricNote {
  readonly kind: "increment" | "set" | "observe";
  readonly name: MetricName;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface LogNote {
  readonly level: keyof Log;
  readonly message: string;
  readonly fields: LogFields;
}

/** What another thread counted and logged. */
export interface RecordedNotes {
  readonly metrics: readonly MetricNote[];
  readonly lines: readonly LogNote[];
}
