import type { ContainerStatus, PodCondition, PodStatus } from "../../model/generated/kubernetes.ts";
import { findObserved, type ObservedPod } from "../../model/observed.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import { matchingRestartRule } from "../restart/restart-policy.ts";

/** Whether a rule of any container may restart the whole pod in place. */
export function couldRestartAll(pod: Pod): boolean {
  return ruledContainers(pod).some((container) =>
    container.restartPolicyRules?.some(({ action }) => action === "RestartAllContainers"),
  );
}

/** Whether all containers are being restarted, or an exit asks for it now. */
export function isRestartingAll(pod: Pod, observed: ObservedPod, oldStatus: PodStatus): boolean {
  const goesOn = oldStatus.conditions?.some(
    ({ type, status }) => type === "AllContainersRestarting" && status === "True",
  );
  if (goesOn === true) return true;
  const reported = new Map<string, ContainerStatus>();
  for (const status of oldStatus.initContainerStatuses ?? []) reported.set(status.name, status);
  for (const status of oldStatus.containerStatuses ?? []) reported.set(status.name, status);
  return ruledContainers(pod).some((container) => {
    const seen = findObserved(observed, container.name);
    // What was reported counts only for a container whose end the runtime still knows.
    if (seen?.state !== "exited") return false;
    const reportedEnd = reported.get(container.name)?.state?.terminated;
    return (
      restartsAll(container, seen.exitCode) ||
      (reportedEnd !== undefined && restartsAll(container, reportedEnd.exitCode))
    );
  });
}

/** The AllContainersRestarting condition of a pod that could restart in place. */
export function restartingAllCondition(
  pod: Pod,
  observed: ObservedPod,
  oldStatus: PodStatus,
  phase: string | undefined,
): PodCondition {
  const type = "AllContainersRestarting";
  if (phase === "Succeeded") return { type, status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { type, status: "False", reason: "PodFailed" };
  const isCleanedUp = ruledContainers(pod).every(
    ({ name }) => findObserved(observed, name) === undefined,
  );
  if (isCleanedUp || !isRestartingAll(pod, observed, oldStatus)) return { type, status: "False" };
  return {
    type,
    status: "True",
    reason: "RestartAllContainersStarted",
    message: "container exited with restart policy rule",
  };
}

function ruledContainers(pod: Pod): AnyContainer[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
}

function restartsAll(container: AnyContainer, exitCode: number): boolean {
  return matchingRestartRule(container, exitCode)?.action === "RestartAllContainers";
}
