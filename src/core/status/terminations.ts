import type { ContainerStatus, PodStatus } from "../../model/generated/kubernetes.ts";
import type { ContainerKind } from "../../model/pod.ts";

/** The end of a container. */
export interface Termination {
  readonly kind: ContainerKind;
  readonly exitCode: number;
  readonly reason: string;
}

/** The containers that have ended in a status and had not in the one before it. */
export function findTerminations(before: PodStatus, after: PodStatus): readonly Termination[] {
  return [
    ...ended("init", before.initContainerStatuses, after.initContainerStatuses),
    ...ended("regular", before.containerStatuses, after.containerStatuses),
    ...ended("ephemeral", before.ephemeralContainerStatuses, after.ephemeralContainerStatuses),
  ];
}

function ended(
  kind: ContainerKind,
  before: readonly ContainerStatus[] = [],
  after: readonly ContainerStatus[] = [],
): readonly Termination[] {
  return after.flatMap(({ name, state }) => {
    const terminated = state?.terminated;
    const previous = before.find((status) => status.name === name);
    if (terminated === undefined || previous?.state?.terminated !== undefined) return [];
    return [{ kind, exitCode: terminated.exitCode ?? 0, reason: terminated.reason ?? "" }];
  });
}
