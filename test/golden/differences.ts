/** A known difference from the recorded kubelet, and why it is right. */
export interface ExplainedDifference {
  /** The scenario, or "*" for all. */
  readonly scenario: string;
  /** namespace/name of the pod, without the scenario's part, or "*". */
  readonly pod: string;
  /** The path of the difference; "*" stands for any text. */
  readonly path: string;
  readonly because: string;
}

/** Every difference between Berth's calls and the recordings that is meant to be. */
export const explainedDifferences: readonly ExplainedDifference[] = [];
