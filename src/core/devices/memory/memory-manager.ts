import { quoteText } from "../../../lib/go-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { Container } from "../../../model/generated/kubernetes.ts";
import { isSidecar, type Pod } from "../../../model/pod.ts";
import { hasPodLevelResources } from "../../resource/pod-resources.ts";
import { podQosClass } from "../../resource/qos.ts";
import type { AllocationError } from "../topology/allocation-error.ts";
import { type ContainerRef, isSameContainer } from "../topology/container-ref.ts";
import type { NumaNodes, ResourceHints, TopologyHint } from "../topology/hints.ts";
import type { HintProvider } from "../topology/topology-manager.ts";
import { isSameGroup, machineProblem, releaseMemory, sumOf, takeMemory } from "./machine-memory.ts";
import { memoryCheckpointText, parseMemoryCheckpoint } from "./memory-checkpoint.ts";
import {
  assignedMemoryHints,
  bestHint,
  hintsForAll,
  memoryNodeHints,
  mixesGroups,
  type NodesHint,
} from "./memory-hints.ts";
import type { MemoryPolicy } from "./memory-policy.ts";
import { type MemoryRequests, memoryRequests, podMemoryRequests } from "./memory-requests.ts";
import { emptyMemoryState, type MemoryBlock, type MemoryState } from "./memory-state.ts";
import { afterBlocks, type ReusablePodMemory, reusableBytes } from "./reusable-memory.ts";

/** What a manager starts with. */
export interface MemoryStart {
  /** The content of the state file; undefined where there is none. */
  readonly file: string | undefined;
  /** For messages that ask to remove it. */
  readonly filePath: string;
  /** The containers that the runtime knows, by their IDs. */
  readonly containers: ReadonlyMap<string, ContainerRef>;
}

export function startMemoryManager(
  policy: MemoryPolicy,
  { file, filePath, containers }: MemoryStart,
): Result<MemoryManager, string> {
  const restored =
    file === undefined ? ok(emptyMemoryState) : parseMemoryCheckpoint(file, policy.name);
  if (!restored.ok) {
    return err(
      `could not restore state from checkpoint: ${restored.error}, please drain this node and delete the memory manager checkpoint file ${quoteText(filePath)} before restarting Kubelet`,
    );
  }
  const state = startState(policy, restored.value);
  if (!state.ok) return state;
  const saved = file === undefined ? undefined : restored.value;
  return ok(new MemoryManager(policy, state.value, { saved, containers }));
}

function startState(policy: MemoryPolicy, state: MemoryState): Result<MemoryState, string> {
  if (policy.name === "None") return ok(state);
  if (state.machine.size === 0) {
    return state.assignments.size === 0
      ? ok({ ...state, machine: policy.unused })
      : err("[memorymanager] machine state can not be empty when it has memory assignments");
  }
  const problem = machineProblem(policy.unused, state);
  return problem === undefined ? ok(state) : err(problem);
}

/** Hands out memory of NUMA nodes and remembers who has which. It does not see the world: the caller writes the file. */
export class MemoryManager implements HintProvider {
  readonly #policy: MemoryPolicy;
  #state: MemoryState;
  #saved: MemoryState | undefined;
  #reusable: ReusablePodMemory | undefined;
  readonly #containers: Map<string, ContainerRef>;

  constructor(
    policy: MemoryPolicy,
    state: MemoryState,
    known: {
      readonly saved: MemoryState | undefined;
      readonly containers: ReadonlyMap<string, ContainerRef>;
    },
  ) {
    this.#policy = policy;
    this.#state = state;
    this.#saved = known.saved;
    this.#containers = new Map(known.containers);
  }

  /** One with the same state, to try what would be handed out. */
  copy(): MemoryManager {
    const known = { saved: this.#saved, containers: this.#containers };
    return new MemoryManager(this.#policy, this.#state, known);
  }

  get state(): MemoryState {
    return this.#state;
  }

  /** The state file's new content where something changed since the last call. */
  takeCheckpoint(): string | undefined {
    if (this.#saved === this.#state) return undefined;
    this.#saved = this.#state;
    return memoryCheckpointText(this.#policy.name, this.#state);
  }

  /** The memory that containers can get, by node and resource. */
  allocatableMemory(): readonly MemoryBlock[] {
    if (this.#policy.name === "None") return [];
    return Array.from(this.#state.machine).flatMap(([node, { tables }]) =>
      Array.from(tables)
        .filter(([, { allocatable }]) => allocatable > 0n)
        .map(([resource, { allocatable }]) => ({
          nodes: [node],
          resource,
          sizeBytes: allocatable,
        })),
    );
  }

  blocks({ podUid, container }: ContainerRef): readonly MemoryBlock[] {
    return this.#state.assignments.get(podUid)?.get(container) ?? [];
  }

  /** The NUMA nodes whose memory a container may use; none is any. */
  nodesFor(ref: ContainerRef): NumaNodes {
    const nodes = new Set(this.blocks(ref).flatMap((block) => block.nodes));
    return [...nodes].toSorted((a, b) => a - b);
  }

  hints(pod: Pod, container: Container): ResourceHints | undefined {
    const requests = memoryRequests(container);
    if (!this.pins(pod) || !requests.ok) return undefined;
    const assigned = this.#assigned(pod, container);
    if (assigned !== undefined) return assignedMemoryHints(assigned, requests.value);
    return hintsForAll(requests.value, this.#nodeHints(pod, requests.value));
  }

  podHints(pod: Pod): ResourceHints | undefined {
    const requests = podMemoryRequests(pod);
    if (!this.pins(pod) || !requests.ok || requests.value.size === 0) return undefined;
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const assigned = this.#assigned(pod, container);
      if (assigned !== undefined) return assignedMemoryHints(assigned, requests.value);
    }
    return hintsForAll(requests.value, this.#nodeHints(pod, requests.value));
  }

  /** Gives a container its memory, unless it has it already or gets none of its own. */
  allocate(pod: Pod, container: Container, affinity: TopologyHint): AllocationError | undefined {
    if (!this.pins(pod)) return undefined;
    const assigned = this.#assigned(pod, container);
    if (assigned !== undefined) {
      this.#reusable = afterBlocks(
        this.#reusableOf(pod),
        assigned,
        endsBeforeOthers(pod, container),
      );
      return undefined;
    }
    const requests = memoryRequests(container);
    if (!requests.ok) return { message: requests.error };
    const hint = this.#chooseNodes(pod, requests.value, affinity);
    if (!hint.ok) return { message: `[memorymanager] ${hint.error}` };
    const { nodes } = hint.value;
    if (mixesGroups(this.#state.machine, nodes)) {
      return { message: "[memorymanager] preferred hint violates NUMA node allocation" };
    }
    this.#assign(pod, container, requests.value, nodes);
    return undefined;
  }

  /** Whether containers of this pod get memory of their own. */
  pins(pod: Pod): boolean {
    return (
      this.#policy.name === "Static" &&
      podQosClass(pod) === "Guaranteed" &&
      !hasPodLevelResources(pod)
    );
  }

  #assigned({ metadata: { uid } }: Pod, { name }: Container): readonly MemoryBlock[] | undefined {
    return this.#state.assignments.get(uid)?.get(name);
  }

  #nodeHints(pod: Pod, requests: MemoryRequests): readonly NodesHint[] {
    const reusable = this.#reusableOf(pod);
    return memoryNodeHints(this.#state.machine, requests, (nodes, resource) =>
      reusableBytes(reusable, nodes, resource),
    );
  }

  #reusableOf({ metadata: { uid } }: Pod): ReusablePodMemory {
    return this.#reusable?.podUid === uid ? this.#reusable : { podUid: uid, bytes: new Map() };
  }

  /** The nodes of the topology manager, or the best ones without it, and more where these are not enough. */
  #chooseNodes(
    pod: Pod,
    requests: MemoryRequests,
    affinity: TopologyHint,
  ): Result<NodesHint, string> {
    const hints = this.#nodeHints(pod, requests);
    const { nodes, preferred } = affinity;
    const first = nodes === undefined ? bestHint(hints) : { nodes, preferred };
    if (first === undefined) {
      return err(
        "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available",
      );
    }
    if (preferred && !first.preferred) return err("failed to find the default preferred hint");
    const isEnough = Array.from(requests).every(
      ([resource, bytes]) => sumOf(this.#state.machine, first.nodes, resource, "free") >= bytes,
    );
    if (isEnough) return ok(first);
    const extended = bestHint(
      hints.filter((hint) => first.nodes.every((node) => hint.nodes.includes(node))),
    );
    if (extended === undefined) {
      return err("failed to find NUMA nodes to extend the current topology hint");
    }
    return first.preferred && !extended.preferred
      ? err("failed to find the extended preferred hint")
      : ok(extended);
  }

  #assign(pod: Pod, container: Container, requests: MemoryRequests, nodes: NumaNodes): void {
    const reusable = this.#reusableOf(pod);
    let { machine } = this.#state;
    const blocks = Array.from(requests, ([resource, sizeBytes]) => ({
      nodes,
      resource,
      sizeBytes,
    }));
    for (const block of blocks) {
      const found = reusableBytes(reusable, nodes, block.resource);
      const sizeBytes = found >= block.sizeBytes ? 0n : block.sizeBytes - found;
      machine = takeMemory(machine, { ...block, sizeBytes });
    }
    this.#reusable = afterBlocks(reusable, blocks, endsBeforeOthers(pod, container));
    const ofPod = new Map(this.#state.assignments.get(pod.metadata.uid)).set(
      container.name,
      blocks,
    );
    for (const block of blocks) takeFromInitContainers(ofPod, pod, container, block);
    const assignments = new Map(this.#state.assignments).set(pod.metadata.uid, ofPod);
    this.#state = { machine, assignments };
  }

  /** Init containers before this one have ended: their memory is free. */
  addContainer(containerId: string, pod: Pod, { name }: Container): void {
    const podUid = pod.metadata.uid;
    this.#containers.set(containerId, { podUid, container: name });
    for (const container of pod.spec.initContainers ?? []) {
      if (container.name === name) return;
      if (!isSidecar(container)) this.#release({ podUid, container: container.name });
    }
  }

  removeContainer(containerId: string): void {
    const ref = this.#containers.get(containerId);
    if (ref !== undefined) this.#release(ref);
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
    for (const ref of this.#containers.values()) if (isStale(ref)) this.#release(ref);
  }

  #release(ref: ContainerRef): void {
    for (const [containerId, other] of this.#containers) {
      if (isSameContainer(other, ref)) this.#containers.delete(containerId);
    }
    const { podUid, container } = ref;
    const blocks = this.#state.assignments.get(podUid)?.get(container);
    if (blocks === undefined || this.#policy.name === "None") return;
    const assignments = new Map(this.#state.assignments);
    const ofPod = new Map(assignments.get(podUid));
    ofPod.delete(container);
    if (ofPod.size === 0) assignments.delete(podUid);
    else assignments.set(podUid, ofPod);
    this.#state = { machine: blocks.reduce(releaseMemory, this.#state.machine), assignments };
  }
}

function endsBeforeOthers(pod: Pod, { name }: Container): boolean {
  return (pod.spec.initContainers ?? []).some(
    (container) => container.name === name && !isSidecar(container),
  );
}

/** What a container reuses is not counted for the init containers before it: all blocks of a pod together are what it has. */
function takeFromInitContainers(
  ofPod: Map<string, readonly MemoryBlock[]>,
  pod: Pod,
  { name }: Container,
  { nodes, resource, sizeBytes }: MemoryBlock,
): void {
  let left = sizeBytes;
  for (const container of pod.spec.initContainers ?? []) {
    if (container.name === name || left === 0n) return;
    const blocks = ofPod.get(container.name);
    if (blocks === undefined || isSidecar(container)) continue;
    const reduced = blocks.map((block) => {
      if (block.resource !== resource || !isSameGroup(block.nodes, nodes)) return block;
      const reused = block.sizeBytes > left ? left : block.sizeBytes;
      left -= reused;
      return { ...block, sizeBytes: block.sizeBytes - reused };
    });
    ofPod.set(container.name, reduced);
  }
}
