import { areSameCpus, type CpuSet } from "../../../model/cpu-set.ts";
import type { PodStatus } from "../../../model/generated/kubernetes.ts";
import type { Pod } from "../../../model/pod.ts";
import type { ContainerRef } from "../topology/container-ref.ts";

/** What a look at one container came to. */
export interface ReconciledContainer {
  /** The container is "" where the whole pod could not be looked at. */
  readonly ref: ContainerRef;
  /** "" where the container does not run. */
  readonly containerId: string;
  readonly outcome:
    | { readonly kind: "current" | "unknown" }
    | { readonly kind: "update"; readonly cpus: CpuSet };
}

interface CpusByContainer {
  readonly wanted: (ref: ContainerRef) => CpuSet;
  readonly applied: (ref: ContainerRef) => CpuSet;
}

/** Compares the CPUs that running containers should have with those that they were given last. */
export function planCpuUpdates(
  pods: readonly Pod[],
  statuses: ReadonlyMap<string, PodStatus>,
  cpus: CpusByContainer,
): readonly ReconciledContainer[] {
  return pods.flatMap(({ metadata: { uid: podUid }, spec }): ReconciledContainer[] => {
    const status = statuses.get(podUid);
    if (status === undefined) return [unknown({ podUid, container: "" })];
    return [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ name }) =>
      planContainer({ podUid, container: name }, status, cpus),
    );
  });
}

function planContainer(
  ref: ContainerRef,
  { initContainerStatuses = [], containerStatuses = [] }: PodStatus,
  cpus: CpusByContainer,
): ReconciledContainer[] {
  const found = [...initContainerStatuses, ...containerStatuses].filter(
    ({ name }) => name === ref.container,
  );
  const fullId = found.find(({ containerID }) => (containerID ?? "") !== "")?.containerID ?? "";
  const containerId = /^[^:]*:\/\/(?<id>.*)$/.exec(fullId)?.groups?.["id"] ?? "";
  const state = found[0]?.state;
  if (containerId === "" || state?.waiting !== undefined) return [unknown(ref)];
  // Its next run gets what it had.
  if (state?.terminated !== undefined) return [];
  if (state?.running === undefined) return [unknown(ref)];
  const wanted = cpus.wanted(ref);
  if (wanted.length === 0) return [{ ...unknown(ref), containerId }];
  return areSameCpus(wanted, cpus.applied(ref))
    ? [{ ref, containerId, outcome: { kind: "current" } }]
    : [{ ref, containerId, outcome: { kind: "update", cpus: wanted } }];
}

function unknown(ref: ContainerRef): ReconciledContainer {
  return { ref, containerId: "", outcome: { kind: "unknown" } };
}
