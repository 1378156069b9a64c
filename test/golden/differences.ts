/** A known difference from the recorded kubelet, and why it is right. */
export interface ExplainedDifference {
  readonly scenario: string;
  /** The pod's name, or "*" for all. */
  readonly pod: string;
  /** The path of the difference; "*" stands for any text. */
  readonly path: string;
  readonly because: string;
}

const CRASH_LOOP =
  "Berth knows a crash loop again after a restart; the kubelet begins with the shortest delay, and comes to this attempt sooner.";

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
    scenario: "always-exit0",
    pod: "p",
    path: "StopContainer <container c 2>",
    because: "The container has ended by itself; the recorded kubelet had not noticed that yet.",
  },
  {
    scenario: "prestop-overrun",
    pod: "p",
    path: "ExecSync <container c 0>: outcome",
    because:
      "The grace period is an absolute deadline: Berth ends the hook then; the kubelet let it run until the container was killed.",
  },
  {
    scenario: "image-pull-always",
    pod: "p",
    path: "CreateContainer c attempt 0: request.config.annotations.io.kubernetes.container.hash",
    because: "The image is pulled from a registry of the test, and the hash is that of its name.",
  },
  {
    scenario: "kubelet-restart",
    pod: "crash",
    path: "CreateContainer c attempt 4",
    because: CRASH_LOOP,
  },
  {
    scenario: "kubelet-restart",
    pod: "crash",
    path: "StartContainer <container c 4>",
    because: CRASH_LOOP,
  },
  {
    scenario: "deleted-while-starting",
    pod: "inhook",
    path: "ExecSync <container c 0>: outcome",
    because:
      "A pod that ends does not wait for its postStart hook: Berth gives the hook up; the kubelet let the pod run until it was done.",
  },
];
