import type { Container } from "../../../model/generated/kubernetes.ts";
import type { Pod } from "../../../model/pod.ts";
import {
  type AdmissionFailure,
  type AllocationError,
  admissionFailure,
  misalignedReason,
} from "./allocation-error.ts";
import { type ContainerRef, isSameContainer } from "./container-ref.ts";
import { askedByContainer, askedByPod, explainTopology } from "./explain-topology.ts";
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

/** On which NUMA nodes a container has what it has, and why there. */
interface Placement {
  readonly hint: TopologyHint;
  readonly because: string;
}

type ExplainedDecision = TopologyDecision & Pick<Placement, "because">;

/** Aligns what the providers hand out to a container, or to a pod, and remembers on which NUMA nodes that is. */
export class TopologyManager {
  readonly policy: TopologyPolicy;
  readonly #providers: readonly HintProvider[];
  readonly #placements = new Map<string, Map<string, Placement>>();
  readonly #containers = new Map<string, ContainerRef>();

  constructor(policy: TopologyPolicy, providers: readonly HintProvider[]) {
    this.policy = policy;
    this.#providers = providers;
  }

  /**
   * Hands out to every container what it asks for. One pod at a time: the next one counts on what this one got. `isHeld`: the
   * pod has it already, from an agent or kubelet before this one.
   */
  async admit(pod: Pod, isHeld = false): Promise<AdmissionFailure | undefined> {
    const { scope } = this.policy;
    const forPod = scope === "pod" ? this.#decideForPod(pod) : undefined;
    if (forPod?.admit === false) return refusal(forPod);
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const decision = forPod ?? this.#decideForContainer(pod, container);
      if (!decision.admit) return refusal(decision);
      if (scope !== "none") {
        const because = isHeld ? "where it was when the agent started" : decision.because;
        this.#place(pod, container, { hint: decision.hint, because });
      }
      for (const provider of this.#providers) {
        const error = await provider.allocate(pod, container, decision.hint);
        if (error !== undefined) return admissionFailure(error);
      }
    }
    return undefined;
  }

  #decideForPod(pod: Pod): ExplainedDecision {
    const hints = this.#providers.map((provider) => provider.podHints(pod));
    const decision = decideTopology(this.policy, hints);
    const because = explainTopology(this.policy, hints, decision, askedByPod(pod));
    return { ...decision, because };
  }

  #decideForContainer(pod: Pod, container: Container): ExplainedDecision {
    if (this.policy.scope === "none") return { hint: noAffinity, admit: true, because: "" };
    const hints = this.#providers.map((provider) => provider.hints(pod, container));
    const decision = decideTopology(this.policy, hints);
    const asked = askedByContainer(pod, container);
    return { ...decision, because: explainTopology(this.policy, hints, decision, asked) };
  }

  #place(pod: Pod, container: Container, placement: Placement): void {
    const ofPod = this.#placements.get(pod.metadata.uid) ?? new Map<string, Placement>();
    this.#placements.set(pod.metadata.uid, ofPod.set(container.name, placement));
  }

  affinity(ref: ContainerRef): TopologyHint {
    return this.#placement(ref)?.hint ?? noAffinity;
  }

  /** Why a container has what it has where it is; undefined where nothing is aligned. */
  because(ref: ContainerRef): string | undefined {
    return this.#placement(ref)?.because;
  }

  #placement({ podUid, container }: ContainerRef): Placement | undefined {
    return this.#placements.get(podUid)?.get(container);
  }

  /** The pod has ended. */
  releasePod(podUid: string): void {
    this.#placements.delete(podUid);
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
    const ofPod = this.#placements.get(podUid);
    ofPod?.delete(container);
    if (ofPod?.size === 0) this.#placements.delete(podUid);
  }
}

function refusal({ because }: ExplainedDecision): AdmissionFailure {
  return { ...admissionFailure(misaligned), because };
}
