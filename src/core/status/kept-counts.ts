import type { ContainerStatus, PodStatus } from "../../model/generated/kubernetes.ts";

/**
 * What the API server has of a pod, with the containers that the node knows to have been restarted more often: the
 * server was not told of that yet. Counts never fall.
 */
export function withKeptCounts(status: PodStatus, kept: PodStatus): PodStatus {
  return {
    ...status,
    containerStatuses: latest(status.containerStatuses, kept.containerStatuses),
    initContainerStatuses: latest(status.initContainerStatuses, kept.initContainerStatuses),
  };
}

function latest(
  told: readonly ContainerStatus[] = [],
  kept: readonly ContainerStatus[] = [],
): readonly ContainerStatus[] | undefined {
  const isUntold = ({ name, restartCount }: ContainerStatus): boolean =>
    restartCount > (told.find((status) => status.name === name)?.restartCount ?? 0);
  const untold = new Map(kept.filter(isUntold).map((status) => [status.name, status]));
  if (untold.size === 0) return told.length === 0 ? undefined : told;
  const names = new Set(told.map(({ name }) => name));
  const added = [...untold.values()].filter(({ name }) => !names.has(name));
  return [...told.map((status) => untold.get(status.name) ?? status), ...added];
}
