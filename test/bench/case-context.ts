import type { BenchAgent, Contender } from "./bench-agent.ts";
import type { BenchWorld } from "./bench-world.ts";
import type { BenchSizes } from "./options.ts";
import { floor, type Metric, type Results } from "./results.ts";

/** What a case is measured with. */
export interface CaseContext {
  readonly world: BenchWorld;
  readonly sizes: BenchSizes;
  readonly results: Results;
}

/** One of the bench's cases. Contenders take turns; in each turn the bare client has one, too. */
export interface BenchCase {
  /** Pods come from the API server: nothing to measure without one. */
  readonly needsCluster: boolean;
  /** How many turns everybody has. */
  readonly rounds: (sizes: BenchSizes) => number;
  readonly measureFloor: (context: CaseContext) => Promise<void>;
  /** The contender is not running yet, and the runtime has no pods. */
  readonly measure: (context: CaseContext, contender: Contender) => Promise<void>;
}

export function recordFloor(context: CaseContext, metric: Metric, value: number, way = ""): void {
  context.results.record(metric, floor, value, way);
}

export function recordAgent(
  context: CaseContext,
  metric: Metric,
  agent: BenchAgent,
  value: number,
): void {
  context.results.record(metric, agent.name, value);
}
