import { type CpuSet, noCpus } from "../../../model/cpu-set.ts";
import type { ContainerRef } from "../topology/container-ref.ts";

/** Which CPUs belong to whom. */
export interface CpuState {
  /** The CPUs of all containers that have none of their own. */
  readonly shared: CpuSet;
  /** Exclusive CPUs by the UID of the pod and the name of the container. */
  readonly assignments: ReadonlyMap<string, ReadonlyMap<string, CpuSet>>;
}

export const emptyCpuState: CpuState = { shared: noCpus, assignments: new Map() };

export function assignedCpus(
  state: CpuState,
  { podUid, container }: ContainerRef,
): CpuSet | undefined {
  return state.assignments.get(podUid)?.get(container);
}

export function assignCpus(
  state: CpuState,
  { podUid, container }: ContainerRef,
  cpus: CpuSet | undefined,
): CpuState {
  const ofPod = new Map(state.assignments.get(podUid));
  if (cpus === undefined) ofPod.delete(container);
  else ofPod.set(container, cpus);
  const assignments = new Map(state.assignments);
  if (ofPod.size === 0) assignments.delete(podUid);
  else assignments.set(podUid, ofPod);
  return { ...state, assignments };
}
