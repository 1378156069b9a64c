/** A known difference from the recorded kubelet, and why it is right. */
export interface ExplainedDifference {
  /** The scenario, or "*" for all. */
  readonly scenario: string;
  /** The pod's name, or "*" for all. */
  readonly pod: string;
  /** The path of the difference; "*" stands for any text. */
  readonly path: string;
  readonly because: string;
}

/** Every difference between Berth's calls and the recordings that is meant to be. */
export const explainedDifferences: readonly ExplainedDifference[] = [
  {
    scenario: "env",
    pod: "p",
    path: "CreateContainer c attempt 0: request.config.envs.MY_SVC_*",
    because: "Services are objects of an API server.",
  },
  {
    scenario: "env",
    pod: "p",
    path: "CreateContainer c attempt 0: request.config.envs.SVC",
    because: "It expands a variable of a service; services are objects of an API server.",
  },
  {
    scenario: "env",
    pod: "nolinks",
    path: "CreateContainer c attempt 0: request.config.args[0]",
    because: "It expands a variable of a service; services are objects of an API server.",
  },
  {
    scenario: "prestop-overrun",
    pod: "p",
    path: "ExecSync <container c 1>: outcome",
    because:
      "The grace period is an absolute deadline: Berth ends the hook then; the kubelet let it run until the container was killed.",
  },
];
