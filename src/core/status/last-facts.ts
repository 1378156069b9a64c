import type { ContainerStatus, PodStatus } from "../../model/generated/kubernetes.ts";
import { isTerminalPhase } from "./phase.ts";

/**
 * What an ended pod had is no longer read from the runtime, its devices are given back, and an edit of its spec changes nothing
 * that ran: a status that is computed again, by the next agent for instance, keeps what was reported.
 */
export function withLastFacts(status: PodStatus, before: PodStatus | undefined): PodStatus {
  if (!isTerminalPhase(status.phase) || !isTerminalPhase(before?.phase)) return status;
  const { podIP = status.podIP, podIPs = status.podIPs } = before ?? {};
  const { resources = status.resources, allocatedResources = status.allocatedResources } =
    before ?? {};
  const { containerStatuses, initContainerStatuses } = status;
  return {
    ...status,
    podIP,
    podIPs,
    resources,
    allocatedResources,
    ...(containerStatuses && {
      containerStatuses: withLastResources(containerStatuses, before?.containerStatuses),
    }),
    ...(initContainerStatuses && {
      initContainerStatuses: withLastResources(
        initContainerStatuses,
        before?.initContainerStatuses,
      ),
    }),
  };
}

function withLastResources(
  statuses: readonly ContainerStatus[],
  before: readonly ContainerStatus[] = [],
): ContainerStatus[] {
  const reported = new Map(before.map((each) => [each.name, each]));
  return statuses.map((status) => {
    const last = reported.get(status.name);
    // One that never ran may have been given devices, too.
    if (last === undefined || last.containerID !== status.containerID) return status;
    const { resources = status.resources, allocatedResources = status.allocatedResources } = last;
    const { allocatedResourcesStatus = status.allocatedResourcesStatus } = last;
    return { ...status, resources, allocatedResources, allocatedResourcesStatus };
  });
}
