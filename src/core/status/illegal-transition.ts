import type { ContainerStatus, PodStatus } from "../../model/generated/kubernetes.ts";
import { type AnyContainer, isSidecar, type Pod } from "../../model/pod.ts";
import { decideRestart } from "../restart/restart-policy.ts";
import { containerAt } from "./container-status-list.ts";
import { couldRestartAll } from "./restart-all.ts";

/** Why a status cannot follow another: a container that has ended for good would no longer be so. */
export function illegalTransition(
  pod: Pod,
  oldStatus: PodStatus,
  status: PodStatus,
): string | undefined {
  if (pod.spec.restartPolicy === "Always" || couldRestartAll(pod)) return undefined;
  for (const old of oldStatus.containerStatuses ?? []) {
    if (mayRun(pod, pod.spec.containers, old)) continue;
    if (comesBack(old, status.containerStatuses)) {
      return `terminated container ${old.name} attempted illegal transition to non-terminated state`;
    }
  }
  const oldInit = oldStatus.initContainerStatuses ?? [];
  for (const [index, old] of oldInit.entries()) {
    const container = containerAt(pod.spec.initContainers, oldInit, index);
    if (container === undefined) {
      return `found mismatch between pod spec and status, container: ${old.name}`;
    }
    if (isSidecar(container) || mayRun(pod, pod.spec.initContainers ?? [], old)) continue;
    if (comesBack(old, status.initContainerStatuses)) {
      return `terminated init container ${old.name} attempted illegal transition to non-terminated state`;
    }
  }
  return undefined;
}

/** Whether the container has not ended, or is restarted after such an end. */
function mayRun(pod: Pod, containers: readonly AnyContainer[], old: ContainerStatus): boolean {
  const end = old.state?.terminated;
  if (end === undefined) return true;
  if (end.exitCode !== 0 && pod.spec.restartPolicy === "OnFailure") return true;
  return containers.some(
    (container) =>
      container.name === old.name && decideRestart(container, pod, end.exitCode).restart,
  );
}

function comesBack(
  old: ContainerStatus,
  statuses: readonly ContainerStatus[] | undefined,
): boolean {
  return (
    statuses?.some(({ name, state }) => name === old.name && state?.terminated === undefined) ??
    false
  );
}
