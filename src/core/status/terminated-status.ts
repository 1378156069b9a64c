import type { ContainerStatus, PodStatus } from "../../model/generated/kubernetes.ts";
import { isSidecar, type Pod } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import { containerAt } from "./container-status-list.ts";
import { isTerminalPhase } from "./phase.ts";
import { containerStatusUnknown } from "./reasons.ts";
import { lostState } from "./seen-container.ts";

/**
 * The last status of a pod of which nothing runs any more. A container whose end was not seen failed: to
 * call it a success would be a guess.
 */
export function terminatedStatus(pod: Pod, status: PodStatus): PodStatus {
  const init = status.initContainerStatuses ?? [];
  const attempted = attemptedCount(init);
  return {
    ...status,
    containerStatuses: hasInitialized(pod)
      ? status.containerStatuses?.map(ended)
      : status.containerStatuses,
    initContainerStatuses: init.map((each, index) => (index < attempted ? ended(each) : each)),
    phase: isStaticPod(pod) || isTerminalPhase(status.phase) ? status.phase : "Failed",
  };
}

function ended(status: ContainerStatus): ContainerStatus {
  if (status.state?.terminated !== undefined) return status;
  return { ...status, state: lostState(containerStatusUnknown) };
}

/** How many init containers were tried: all but those at the end that only ever waited, and at least one. */
function attemptedCount(statuses: readonly ContainerStatus[]): number {
  const last = statuses.findLastIndex(
    ({ state, lastState }) => state?.waiting === undefined || lastState?.terminated !== undefined,
  );
  return Math.max(last, 0) + 1;
}

/** Whether, by the API's record, the pod came so far as to start regular containers. */
function hasInitialized(pod: Pod): boolean {
  const { initContainers = [] } = pod.spec;
  if (initContainers.length === 0) return true;
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const anyLeftWaiting = containerStatuses.some(
    ({ state, lastState }) => lastState?.terminated !== undefined || state?.waiting === undefined,
  );
  if (anyLeftWaiting) return true;
  const last = initContainerStatuses.at(-1);
  const container = containerAt(
    initContainers,
    initContainerStatuses,
    initContainerStatuses.length - 1,
  );
  if (last === undefined || container === undefined) return false;
  if (isSidecar(container)) return last.state?.running !== undefined && last.started === true;
  return last.lastState?.terminated?.exitCode === 0 || last.state?.terminated?.exitCode === 0;
}
