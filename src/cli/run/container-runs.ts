// The runs of a pod's containers, and the exit code that stands for all of them.
import type { ContainerStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";

/** One start of a container; `run` counts from 0. */
export interface ContainerRun {
  readonly container: string;
  readonly run: number;
}

/** The runs of containers that are known to have begun, of each the last two at most. */
export function begunRuns({ status }: Pod): readonly ContainerRun[] {
  return containerStatuses(status).flatMap(({ name, state, lastState, restartCount }) => {
    const isHere = state?.running !== undefined || state?.terminated !== undefined;
    const hasLast = lastState?.terminated !== undefined;
    // A container that waits to start again still counts its last run.
    const runs = [
      ...(isHere && hasLast ? [restartCount - 1] : []),
      ...(isHere || hasLast ? [restartCount] : []),
    ];
    return runs.filter((run) => run >= 0).map((run) => ({ container: name, run }));
  });
}

export function restartsOf({ status }: Pod, container: string): number | undefined {
  return containerStatuses(status).find(({ name }) => name === container)?.restartCount;
}

export function isOver({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

/** Of pods that are over: the first exit code that is not 0, in the order of the pods and of their containers. */
export function exitCodeOf(pods: readonly Pod[]): number {
  const codes = pods.flatMap((pod) => {
    if (pod.status?.phase === "Succeeded") return [];
    const ended = containerStatuses(pod.status).map(
      ({ state }) => state?.terminated?.exitCode ?? 0,
    );
    // One that was refused or evicted may have no container at all.
    return ended.find((code) => code !== 0) ?? 1;
  });
  return codes[0] ?? 0;
}

function containerStatuses(status: Pod["status"]): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}
