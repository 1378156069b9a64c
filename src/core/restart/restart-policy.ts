import type { ContainerRestartRule } from "../../model/generated/kubernetes.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";

/** Whether an exited container runs again, and which setting of the pod says so. */
export interface RestartDecision {
  readonly restart: boolean;
  /** Reads on after "container web exited with code 1 and …". */
  readonly because: string;
}

/** The first restart rule that the exit code matches. */
export function matchingRestartRule(
  container: AnyContainer,
  exitCode: number,
): ContainerRestartRule | undefined {
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    const listed = exitCodes?.values?.includes(exitCode) ?? false;
    return (exitCodes?.operator === "In" && listed) || (exitCodes?.operator === "NotIn" && !listed);
  });
}

/** Asks in turn the container's rules, its own restart policy and the pod's. */
export function decideRestart(
  container: AnyContainer,
  pod: Pod,
  exitCode: number,
): RestartDecision {
  const ofContainer = container.restartPolicy;
  // Rules refine the container's own policy; without one they have no effect.
  if (ofContainer !== undefined) {
    const action = matchingRestartRule(container, exitCode)?.action;
    if (action === "Restart" || action === "RestartAllContainers") {
      return { restart: true, because: `its restart rule for this exit code is ${action}` };
    }
    const restart = policyRestarts(ofContainer, exitCode);
    if (restart !== undefined) {
      return { restart, because: `its own restartPolicy is ${ofContainer}` };
    }
  }
  const ofPod = podRestartPolicy(pod);
  return {
    restart: policyRestarts(ofPod, exitCode) ?? true,
    because: `restartPolicy is ${ofPod}`,
  };
}

/** The restart policy of the pod; none means Always. */
export function podRestartPolicy(pod: Pod): string {
  return pod.spec.restartPolicy || "Always";
}

/**
 * Whether a container that failed without an exit code (a failed probe, an unknown state) runs again:
 * restart rules do not apply to it.
 */
export function restartsWithoutExitCode(container: AnyContainer, pod: Pod): boolean {
  return (container.restartPolicy ?? podRestartPolicy(pod)) !== "Never";
}

function policyRestarts(policy: string, exitCode: number): boolean | undefined {
  if (policy === "Always") return true;
  if (policy === "OnFailure") return exitCode !== 0;
  if (policy === "Never") return false;
  return undefined;
}
