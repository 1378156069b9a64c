// The runs of a pod's containers, and the exit code that stands for all of them.
import type { ContainerStatus } from "../../model/generated/kubernetes.ts";
import { isSidecar, type Pod } from "../../model/pod.ts";
import { exitCodes } from "../exit.ts";

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

/** Of pods that are over: the first exit code that is not 0, in the order of the pods and of the containers in their specs. */
export function exitCodeOf(pods: readonly Pod[]): number {
  const codes = pods.flatMap(({ spec, status }) => {
    if (status?.phase === "Succeeded") return [];
    // Refused, evicted or over its deadline: what its containers were ended with is not why.
    if (status?.reason !== undefined) return [exitCodes.failed];
    const known = containerStatuses(status);
    // Sidecars are ended when the others are over, whatever they answer to that.
    const init = (spec.initContainers ?? []).filter((container) => !isSidecar(container));
    const ended = [...init, ...spec.containers].map(
      ({ name }) => known.find((each) => each.name === name)?.state?.terminated?.exitCode ?? 0,
    );
    return ended.find((code) => code !== 0) ?? exitCodes.failed;
  });
  return codes[0] ?? exitCodes.ok;
}

function containerStatuses(status: Pod["status"]): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}
