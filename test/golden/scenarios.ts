const restartScenario = "kubelet-restart";

/** Whether the agent is stopped and started again in a scenario: only what follows was recorded. */
export function isRestart(scenario: string): boolean {
  return scenario === restartScenario;
}

/** How a node that its cluster does not know introduces itself: the first thing that an agent does. */
export const registrationScenario = "node-registration";

/** What the kubelet's own API answers, recorded while the pods of another scenario ran. */
export const httpScenario = "http";

/** The scenarios that no other survives beside them: the agent restarts, or its pods fill the node. */
export const scenariosAlone: readonly string[] = [
  registrationScenario,
  httpScenario,
  restartScenario,
  "resize-deferred",
  "critical-preemption",
  "critical-preemption-exit137",
];

/** The scenarios that may share an agent, the longest first. */
export const scenariosTogether: readonly string[] = [
  "onfailure-crashloop",
  "eviction-emptydir",
  "eviction-emptydir-exit137",
  "create-container-error",
  "image-missing",
  "bad-configmap",
  "static-pod",
  "log-rotation",
  "always-exit0",
  "init-fail-always",
  "sigterm-ignored",
  "startup-readiness",
  "restart-all-containers",
  "active-deadline",
  "active-deadline-exit137",
  "liveness-kill",
  "sidecar",
  "sidecar-restart",
  "sidecar-job",
  "never-two-containers",
  "security-context-2",
  "badcommand",
  "startup-probe-kill",
  "restart-rules",
  "init-containers",
  "lifecycle-hooks",
  "never-exit0",
  "never-exit1",
  "prestop-overrun",
  "job-deleted-running-never",
  "init-fail-never",
  "termination-message",
  "security-context",
  "volumes",
  "ephemeral-container",
  "resize-in-place",
  "resize-pod-level",
  "userns-unsupported",
  "image-change",
  "image-pull-always",
  "hooks-fail",
  "deleted-while-starting",
  "rejected",
  "oom-killed",
  "sandbox-killed",
  "many-pods",
  "resources-qos",
  "plain",
  "env",
  "pid-namespaces",
  "plain-protobuf",
  "hostnetwork-hostport",
  "dns-hostname",
  "readiness-gate",
  "image-pull-secret",
  "image-volume",
  "runtimeclass-overhead",
  "exec-attach-portforward",
];

/** By scenario: how much longer to wait at each of its waits. */
export const waitAdjustmentsMs: Readonly<Record<string, number>> = {
  // Deleted in the moment in which its container ends: let it run still.
  "always-exit0": -1000,
};
