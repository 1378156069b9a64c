import type { ContainerStatus } from "../../model/generated/kubernetes.ts";
import type { AnyContainer } from "../../model/pod.ts";

export function findContainerStatus(
  statuses: readonly ContainerStatus[] | undefined,
  name: string,
): ContainerStatus | undefined {
  return statuses?.find((status) => status.name === name);
}

/** The container that the status at that place is of; none where spec and status do not line up. */
export function containerAt(
  containers: readonly AnyContainer[] | undefined,
  statuses: readonly ContainerStatus[],
  index: number,
): AnyContainer | undefined {
  const container = containers?.[index];
  return container?.name === statuses[index]?.name ? container : undefined;
}

export function sortedByName(statuses: readonly ContainerStatus[]): ContainerStatus[] {
  return statuses.toSorted((a, b) => {
    if (a.name === b.name) return 0;
    return a.name < b.name ? -1 : 1;
  });
}
