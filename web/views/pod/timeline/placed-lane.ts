import type { Drawn } from "../../../model/collapse.ts";
import type { TimelineLane } from "../../../model/timeline-item.ts";

export const heights = { tall: 28, low: 16 } as const;
export const axisHeight: number = 24;

/** A lane with what can be seen of it. */
export interface PlacedLane {
  readonly lane: TimelineLane;
  readonly y: number;
  readonly height: number;
  readonly drawn: readonly Drawn[];
}
