import type { Container } from "../../../model/generated/kubernetes.ts";
import type { Pod } from "../../../model/pod.ts";
import {
  type AdmissionFailure,
  type AllocationError,
  admissionFailure,
  misalignedReason,
} from "./allocation-error.ts";
import { type ContainerRef, isSameContainer } from "./container-ref.ts";
import { noAffinity, type ResourceHints, type TopologyHint } from "./hints.ts";
import { decideTopology, type TopologyDecision, type TopologyPolicy } from "./topology-policy.ts";

/** A manager of resources whose place in the machine matters: CPUs, memory, devices. */
export interface HintProvider {
  /** undefined: no preference. */
  hints(pod: Pod, container: Container): ResourceHints | undefined;
  podHints(pod: Pod): ResourceHints | undefined;
  /** Device plugins are asked, so this can take a while; the others answer at once. */
  allocate(
    pod: Pod,
    container: Container,
    affinity: TopologyHint,
  ): AllocationError | undefined | Promise<AllocationError | undefined>;
}

const misaligned: AllocationError = {
  reason: misalignedReason,
  message: "Resources cannot be allocated with Topology locality",
};

/** Aligns what the providers hand out to a container, or to a pod, and remembers on which NUMA nodes that is. */
export class TopologyManager {
  readonly policy: TopologyPolicy;
  readonly #providers: readonly HintProvider[];
  readonly #affinities = new Map<string, Map<string, TopologyHint>>();
  readonly #containers = new Map<string, ContainerRef>();

  constructor(policy: TopologyPolicy, providers: readonly HintProvider[]) {
    this.policy = policy;
    this.#providers = providers;
  }

  /** Hands out to every container what it asks for. One pod at a time: the next one counts on what this one got. */
  async admit(pod: Pod): Promise<AdmissionFailure | undefined> {
    const { scope } = this.policy;
    const forPod = scope === "pod" ? this.#decideForPod(pod) : undefined;
    if (forPod?.admit === false) return admissionFailure(misaligned);
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const decision = forPod ?? this.#decideForContainer(pod, container);
      if (!decision.admit) return admissionFailure(misaligned);
      if (scope !== "none") this.#setAffinity(pod, container, decision.hint);
      for (const provider of this.#providers) {
        const error = await provider.allocate(pod, container, decision.hint);
        if (error !== undefined) return admissionFailure(error);
      }
    }
    return undefined;
  }

  #decideForPod(pod: Pod): TopologyDecision {
    return decideTopology(
      this.policy,
      this.#providers.map((provider) => provider.podHints(pod)),
    );
  }

  #decideForContainer(pod: Pod, container: Container): TopologyDecision {
    if (this.policy.scope === "none") return { hint: noAffinity, admit: true };
    return decideTopology(
      this.policy,
      this.#providers.map((provider) => provider.hints(pod, container)),
    );
  }

  #setAffinity(pod: Pod, container: Container, hint: TopologyHint): void {
    const ofPod = this.#affinities.get(pod.metadata.uid) ?? new Map<string, TopologyHint>();
    this.#affinities.set(pod.metadata.uid, ofPod.set(container.name, hint));
  }

  affinity({ podUid, container }: ContainerRef): TopologyHint {
    return this.#affinities.get(podUid)?.get(container) ?? noAffinity;
  }

  /** The pod has ended. */
  releasePod(podUid: string): void {
    this.#affinities.delete(podUid);
    for (const [containerId, ref] of this.#containers) {
      if (ref.podUid === podUid) this.#containers.delete(containerId);
    }
  }

  addContainer(containerId: string, ref: ContainerRef): void {
    this.#containers.set(containerId, ref);
  }

  /** Forgets the affinity with the last ID: a container that was restarted has another one by now. */
  removeContainer(containerId: string): void {
    const removed = this.#containers.get(containerId);
    if (removed === undefined) return;
    this.#containers.delete(containerId);
    const { podUid, container } = removed;
    if (Array.from(this.#containers.values()).some((ref) => isSameContainer(ref, removed))) return;
    const ofPod = this.#affinities.get(podUid);
    ofPod?.delete(container);
    if (ofPod?.size === 0) this.#affinities.delete(podUid);
  }
}
