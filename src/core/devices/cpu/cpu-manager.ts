import { quoteText } from "../../../lib/go-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import { type CpuSet, noCpus, unionCpus, withoutCpus } from "../../../model/cpu-set.ts";
import type { Container, PodStatus } from "../../../model/generated/kubernetes.ts";
import { isSidecar, type Pod } from "../../../model/pod.ts";
import { hasPodLevelResources } from "../../resource/pod-resources.ts";
import type { AllocationError } from "../topology/allocation-error.ts";
import type { ContainerRef } from "../topology/container-ref.ts";
import type { ResourceHints, TopologyHint } from "../topology/hints.ts";
import type { HintProvider } from "../topology/topology-manager.ts";
import { cpuCheckpointText, parseCpuCheckpoint } from "./cpu-checkpoint.ts";
import { cpuHints } from "./cpu-hints.ts";
import type { CpuPolicy } from "./cpu-policy.ts";
import { assignCpus, assignedCpus, type CpuState, emptyCpuState } from "./cpu-state.ts";
import { cpusOf } from "./cpu-topology.ts";
import { exclusiveCpuCount, podExclusiveCpuCount } from "./exclusive-cpus.ts";
import { planCpuUpdates, type ReconciledContainer } from "./plan-cpu-updates.ts";
import {
  choiceText,
  chooseCpus,
  freeCpus,
  type StaticPolicy,
  smtProblem,
  startStaticPolicy,
} from "./static-policy.ts";

/** What a manager starts with. */
export interface CpuStart {
  /** The content of the state file; undefined where there is none. */
  readonly file: string | undefined;
  /** For messages that ask to remove it. */
  readonly filePath: string;
  /** The containers that the runtime knows, by their IDs. */
  readonly containers: ReadonlyMap<string, ContainerRef>;
}

export function startCpuManager(policy: CpuPolicy, start: CpuStart): Result<CpuManager, string> {
  const restored =
    start.file === undefined
      ? ok(emptyCpuState)
      : parseCpuCheckpoint(start.file, policy.name, start.containers);
  if (!restored.ok) {
    return err(
      `could not restore state from checkpoint: ${restored.error}, please drain this node and delete the CPU manager checkpoint file ${quoteText(start.filePath)} before restarting Kubelet`,
    );
  }
  const state = policy.exclusive
    ? startStaticPolicy(policy.exclusive, restored.value)
    : ok(restored.value);
  if (!state.ok) return state;
  const saved = start.file === undefined ? undefined : restored.value;
  return ok(new CpuManager(policy, state.value, { saved, containers: start.containers }));
}

/** Hands out CPUs and remembers who has which. It does not see the world: the caller writes the file and updates containers. */
export class CpuManager implements HintProvider {
  readonly #policy: CpuPolicy;
  #state: CpuState;
  #saved: CpuState | undefined;
  /** The CPUs of init containers of the pod that is being admitted: the next containers can have them. */
  #reusable: { readonly podUid: string; readonly cpus: CpuSet } | undefined;
  readonly #containers: Map<string, ContainerRef>;
  /** The CPUs that containers were last given in the runtime. */
  #applied: CpuState = emptyCpuState;

  constructor(
    policy: CpuPolicy,
    state: CpuState,
    known: {
      readonly saved: CpuState | undefined;
      readonly containers: ReadonlyMap<string, ContainerRef>;
    },
  ) {
    this.#policy = policy;
    this.#state = state;
    this.#saved = known.saved;
    this.#containers = new Map(known.containers);
  }

  /** One with the same state, to try what would be handed out. */
  copy(): CpuManager {
    const known = { saved: this.#saved, containers: this.#containers };
    return new CpuManager(this.#policy, this.#state, known);
  }

  get state(): CpuState {
    return this.#state;
  }

  /** The state file's new content where something changed since the last call. */
  takeCheckpoint(): string | undefined {
    if (this.#saved === this.#state) return undefined;
    this.#saved = this.#state;
    return cpuCheckpointText(this.#policy.name, this.#state);
  }

  /** The CPUs that containers can get for themselves. */
  allocatableCpus(): CpuSet {
    const { exclusive, topology } = this.#policy;
    return exclusive ? withoutCpus(cpusOf(topology.places), exclusive.reserved) : noCpus;
  }

  /** Those of them that no container has. */
  freeCpus(): CpuSet {
    const { exclusive } = this.#policy;
    return exclusive ? freeCpus(exclusive, this.#state) : noCpus;
  }

  /** How CPUs are chosen among those that are free. */
  get choice(): string {
    const { exclusive } = this.#policy;
    return exclusive ? choiceText(exclusive) : "";
  }

  allCpus(): CpuSet {
    return cpusOf(this.#policy.topology.places);
  }

  exclusiveCpus(ref: ContainerRef): CpuSet {
    return assignedCpus(this.#state, ref) ?? noCpus;
  }

  /** The CPUs that a container may run on. */
  cpusFor(ref: ContainerRef): CpuSet {
    return assignedCpus(this.#state, ref) ?? this.#state.shared;
  }

  /** Whether a container gets CPUs of its own. */
  pins(pod: Pod, container: Container): boolean {
    const { exclusive } = this.#policy;
    return (
      exclusive !== undefined && exclusiveCpuCount(pod, container) > 0 && !hasPodLevelResources(pod)
    );
  }

  hints(pod: Pod, container: Container): ResourceHints | undefined {
    const { exclusive } = this.#policy;
    const count = exclusiveCpuCount(pod, container);
    if (exclusive === undefined || count === 0 || hasPodLevelResources(pod)) return undefined;
    const assigned = assignedCpus(this.#state, refOf(pod, container));
    if (assigned !== undefined) return assignedHints(exclusive, assigned, count);
    const free = freeCpus(exclusive, this.#state);
    return cpuOnly(cpuHints(exclusive, count, { free, reusable: this.#reusableOf(pod) }));
  }

  podHints(pod: Pod): ResourceHints | undefined {
    const { exclusive } = this.#policy;
    const count = podExclusiveCpuCount(pod);
    if (exclusive === undefined || count === 0 || hasPodLevelResources(pod)) return undefined;
    let assigned = noCpus;
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const cpus = assignedCpus(this.#state, refOf(pod, container));
      if (cpus === undefined) continue;
      if (cpus.length !== exclusiveCpuCount(pod, container)) return cpuOnly([]);
      assigned = unionCpus(assigned, cpus);
    }
    if (assigned.length === count) return assignedHints(exclusive, assigned, count);
    const free = freeCpus(exclusive, this.#state);
    const reusable = unionCpus(this.#reusableOf(pod), assigned);
    return cpuOnly(cpuHints(exclusive, count, { free, reusable }));
  }

  /** Gives a container its CPUs, unless it has them already or gets none of its own. */
  allocate(pod: Pod, container: Container, affinity: TopologyHint): AllocationError | undefined {
    const { exclusive } = this.#policy;
    const count = exclusiveCpuCount(pod, container);
    if (exclusive === undefined || count === 0 || hasPodLevelResources(pod)) return undefined;
    const problem = smtProblem(exclusive, this.#state, count);
    if (problem !== undefined) return problem;
    const ref = refOf(pod, container);
    const assigned = assignedCpus(this.#state, ref);
    if (assigned !== undefined) {
      this.#updateReusable(pod, container, assigned);
      return undefined;
    }
    const { nodes } = affinity;
    const reusable = this.#reusableOf(pod);
    const chosen = chooseCpus(exclusive, this.#state, { count, nodes, reusable });
    if (!chosen.ok) return { message: chosen.error };
    const cpus = chosen.value;
    const shared = withoutCpus(this.#state.shared, cpus);
    this.#state = assignCpus({ ...this.#state, shared }, ref, cpus);
    this.#updateReusable(pod, container, cpus);
    return undefined;
  }

  #reusableOf({ metadata: { uid } }: Pod): CpuSet {
    return this.#reusable?.podUid === uid ? this.#reusable.cpus : noCpus;
  }

  #updateReusable(pod: Pod, { name }: Container, cpus: CpuSet): void {
    const before = this.#reusableOf(pod);
    const ends = (pod.spec.initContainers ?? []).some(
      (container) => container.name === name && !isSidecar(container),
    );
    this.#reusable = {
      podUid: pod.metadata.uid,
      cpus: ends ? unionCpus(before, cpus) : withoutCpus(before, cpus),
    };
  }

  /** A container was created with the CPUs that it was promised. */
  addContainer(containerId: string, ref: ContainerRef): void {
    const cpus = assignedCpus(this.#state, ref);
    if (cpus !== undefined) this.noteApplied(ref, cpus);
    this.#containers.set(containerId, ref);
  }

  removeContainer(containerId: string): void {
    const ref = this.#containers.get(containerId);
    if (ref === undefined) return;
    this.#release(ref);
    this.#containers.delete(containerId);
  }

  /** Takes back what belongs to a pod that has ended. */
  releasePod(podUid: string): void {
    this.removeStale((ref) => ref.podUid === podUid);
  }

  /** Takes back what belongs to containers that are gone for good. */
  removeStale(isStale: (ref: ContainerRef) => boolean): void {
    for (const [podUid, ofPod] of this.#state.assignments) {
      for (const container of ofPod.keys()) {
        if (isStale({ podUid, container })) this.#release({ podUid, container });
      }
    }
    for (const [containerId, ref] of this.#containers) {
      if (!isStale(ref)) continue;
      this.#release(ref);
      this.#containers.delete(containerId);
    }
  }

  /** Containers of the same pod can still have the CPUs: they reused them. */
  #release(ref: ContainerRef): void {
    this.#applied = assignCpus(this.#applied, ref, undefined);
    const cpus = assignedCpus(this.#state, ref);
    if (cpus === undefined || this.#policy.exclusive === undefined) return;
    const state = assignCpus(this.#state, ref, undefined);
    const siblings = state.assignments.get(ref.podUid)?.values() ?? [];
    const released = withoutCpus(cpus, unionCpus(...siblings));
    this.#state = { ...state, shared: unionCpus(state.shared, released) };
  }

  /** Which containers have to be updated, and which could not be looked at. What was updated is noted with `noteApplied`. */
  planUpdates(
    activePods: readonly Pod[],
    statuses: ReadonlyMap<string, PodStatus>,
  ): readonly ReconciledContainer[] {
    const planned = planCpuUpdates(activePods, statuses, {
      wanted: (ref) => this.cpusFor(ref),
      applied: (ref) => assignedCpus(this.#applied, ref) ?? noCpus,
    });
    for (const { ref, containerId } of planned) {
      if (containerId !== "") this.#containers.set(containerId, ref);
    }
    return planned;
  }

  noteApplied(ref: ContainerRef, cpus: CpuSet): void {
    this.#applied = assignCpus(this.#applied, ref, cpus);
  }
}

function refOf(pod: Pod, { name }: Container): ContainerRef {
  return { podUid: pod.metadata.uid, container: name };
}

function cpuOnly(hints: readonly TopologyHint[]): ResourceHints {
  return new Map([["cpu", hints]]);
}

/** Where the CPUs are that were given before; a container that asks for another number now cannot get it. */
function assignedHints(policy: StaticPolicy, assigned: CpuSet, count: number): ResourceHints {
  if (assigned.length !== count) return cpuOnly([]);
  return cpuOnly(cpuHints(policy, count, { free: assigned, reusable: noCpus }));
}
