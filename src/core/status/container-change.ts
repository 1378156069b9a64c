import type { ContainerStatus, PodStatus } from "../../model/generated/kubernetes.ts";
import type { ContainerId } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { withCondition } from "./condition-list.ts";
import { containersReadyCondition, readyCondition } from "./conditions.ts";

/** The status with one container's readiness changed; undefined when that changes nothing. */
export function withContainerReady(
  pod: Pod,
  status: PodStatus,
  containerId: ContainerId,
  ready: boolean,
): PodStatus | undefined {
  if ((findById(status, containerId)?.ready ?? ready) === ready) return undefined;
  const changed = replaceById(status, containerId, { ready });
  const { conditions = [], phase } = changed;
  const statuses = [...(changed.initContainerStatuses ?? []), ...(changed.containerStatuses ?? [])];
  const withReady = withCondition(conditions, readyCondition(pod, conditions, statuses, phase));
  return {
    ...changed,
    conditions: withCondition(withReady, containersReadyCondition(pod, statuses, phase)),
  };
}

/** The status with one container's `started` changed; undefined when that changes nothing. */
export function withContainerStarted(
  status: PodStatus,
  containerId: ContainerId,
  started: boolean,
): PodStatus | undefined {
  const container = findById(status, containerId);
  if (container === undefined || container.started === started) return undefined;
  return replaceById(status, containerId, { started });
}

function findById(status: PodStatus, containerId: ContainerId): ContainerStatus | undefined {
  const isWanted = ({ containerID }: ContainerStatus) => containerID === containerId;
  return status.containerStatuses?.find(isWanted) ?? status.initContainerStatuses?.find(isWanted);
}

function replaceById(
  status: PodStatus,
  containerId: ContainerId,
  change: Partial<ContainerStatus>,
): PodStatus {
  const wanted = findById(status, containerId);
  const replaced = (statuses: readonly ContainerStatus[] | undefined) =>
    statuses?.map((each) => (each === wanted ? { ...each, ...change } : each));
  return {
    ...status,
    containerStatuses: replaced(status.containerStatuses),
    initContainerStatuses: replaced(status.initContainerStatuses),
  };
}
