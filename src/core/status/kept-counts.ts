import type { ContainerStatus, PodStatus } from "../../model/generated/kubernetes.ts";

/**
 * What the API server has of a pod, with the containers that the node knows to have been restarted more often: the
 * server did not get that yet. Counts never fall.
 */
export function withKeptCounts(status: PodStatus, kept: PodStatus): PodStatus {
  return {
    ...status,
    containerStatuses: latest(status.containerStatuses, kept.containerStatuses),
    initContainerStatuses: latest(status.initContainerStatuses, kept.initContainerStatuses),
  };
}

function latest(
  reported: readonly ContainerStatus[] = [],
  kept: readonly ContainerStatus[] = [],
): readonly ContainerStatus[] | undefined {
  const isUnreported = ({ name, restartCount }: ContainerStatus): boolean =>
    restartCount > (reported.find((status) => status.name === name)?.restartCount ?? 0);
  const unreported = new Map(kept.filter(isUnreported).map((status) => [status.name, status]));
  if (unreported.size === 0) return reported.length === 0 ? undefined : reported;
  // A list with gaps would not line up with the pod's spec.
  const known = new Map(reported.map((status) => [status.name, status]));
  const names = new Set(kept.map(({ name }) => name));
  return [
    ...kept.map((status) => unreported.get(status.name) ?? known.get(status.name) ?? status),
    ...reported.filter(({ name }) => !names.has(name)),
  ];
}
