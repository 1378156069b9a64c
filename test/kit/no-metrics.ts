import type { Metrics } from "../../src/ports/metrics.ts";

/** Counts nothing. */
export const noMetrics: Metrics = {
  increment: () => undefined,
  set: () => undefined,
  observe: () => undefined,
  reset: () => undefined,
  drop: () => undefined,
};
