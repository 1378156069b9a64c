import { memoryCheckpointDump } from "../../../src/core/devices/memory/memory-checkpoint.ts";
import {
  type MemoryManager,
  startMemoryManager,
} from "../../../src/core/devices/memory/memory-manager.ts";
import { memoryPolicy } from "../../../src/core/devices/memory/memory-policy.ts";
import type { MemoryBlock } from "../../../src/core/devices/memory/memory-state.ts";
import { admissionFailure } from "../../../src/core/devices/topology/allocation-error.ts";
import type { ContainerRef } from "../../../src/core/devices/topology/container-ref.ts";
import { staleContainers } from "../../../src/core/devices/topology/container-ref.ts";
import { resourceList } from "../../../src/core/resource/resource-list.ts";
import { compareText } from "../../../src/lib/compare-text.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { ActivePods } from "../active-pods.ts";
import { differences } from "../compare.ts";
import {
  decodeHint,
  type EncodedHint,
  type EncodedMachine,
  encodeHints,
  explicitHints,
  machineTopology,
  withoutJsonErrors,
} from "../machine-encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

type Amounts = Readonly<Record<string, string>>;

interface Settings {
  readonly machineInfo: EncodedMachine;
  readonly policy: string;
  readonly nodeReservation: Amounts | null;
  readonly reservedMemory:
    | readonly { readonly numaNode?: number; readonly limits?: Amounts }[]
    | null;
  readonly checkpointFile?: string;
}

interface OfContainer {
  readonly pod: string;
  readonly container: string;
}

type Step =
  | ({ readonly op: "allocate"; readonly affinity?: EncodedHint } & OfContainer)
  | ({ readonly op: "hints" | "numaNodes" } & OfContainer)
  | ({ readonly op: "addContainer"; readonly containerID: string } & OfContainer)
  | { readonly op: "podHints" | "removePod"; readonly pod: string }
  | { readonly op: "removeContainer"; readonly containerID: string }
  | ({ readonly op: "restart" } & Partial<Settings>);

interface Input extends Settings {
  readonly pods: readonly Pod[];
  readonly steps: readonly Step[];
}

export const memoryManagerDomain: VectorDomain = vectorDomain<Input>(
  "memory-manager",
  (input) => {
    const run = new MemoryManagerRun(input);
    const started = run.start(input);
    if (!("allocatableMemory" in started)) return started;
    const steps: object[] = [];
    for (const step of input.steps) {
      const result = run.step(step);
      steps.push(result);
      if ("startError" in result || "newError" in result) break;
    }
    return { ...started, steps, ...run.file() };
  },
  (value) => withoutJsonErrors(explicitHints(value)),
);

class MemoryManagerRun {
  readonly #pods: ActivePods;
  readonly #containers = new Map<string, ContainerRef>();
  #settings: Settings;
  #manager: MemoryManager | undefined;
  #policyName = "";
  #file: string | undefined;
  #shown: object | undefined;

  constructor(input: Input) {
    this.#pods = new ActivePods(input.pods);
    this.#settings = input;
  }

  start(changes: Partial<Settings>): object {
    this.#settings = { ...this.#settings, ...changes };
    this.#file = changes.checkpointFile ?? this.#file;
    const { policy: name, nodeReservation, reservedMemory, machineInfo } = this.#settings;
    const policy = memoryPolicy(
      {
        policy: name,
        nodeReservation: resourceList(nodeReservation ?? {}),
        reservedMemory: (reservedMemory ?? []).map(({ numaNode = 0, limits }) => ({
          numaNode,
          limits: resourceList(limits),
        })),
      },
      machineTopology(machineInfo).numaNodes,
    );
    if (!policy.ok) return { newError: policy.error };
    const manager = startMemoryManager(policy.value, {
      file: this.#file,
      filePath: "/STATEDIR/memory_manager_state",
      containers: this.#containers,
    });
    if (!manager.ok) return { startError: manager.error };
    this.#manager = manager.value;
    this.#policyName = policy.value.name;
    const allocatable = this.#manager
      .allocatableMemory()
      .toSorted(
        (a, b) => (a.nodes[0] ?? 0) - (b.nodes[0] ?? 0) || compareText(a.resource, b.resource),
      );
    return { allocatableMemory: allocatable.map(encodeBlock), ...this.#changedState() };
  }

  step(step: Step): object {
    if ("pod" in step && step.op !== "removePod") this.#pods.add(step.pod);
    if (step.op === "restart") return this.start(step);
    const result = this.#run(step);
    return { ...result, ...this.#changedState() };
  }

  #run(step: Exclude<Step, { op: "restart" }>): object {
    const manager = this.#running;
    switch (step.op) {
      case "allocate": {
        manager.removeStale(staleContainers(this.#pods.list()));
        const { pod, container } = this.#pods.find(step);
        const affinity = decodeHint(step.affinity ?? { nodes: null, preferred: false });
        const error = manager.allocate(pod, container, affinity);
        if (error === undefined) return {};
        const { reason, message } = admissionFailure(error);
        return { error: error.message, admissionReason: reason, admissionMessage: message };
      }
      case "hints": {
        manager.removeStale(staleContainers(this.#pods.list()));
        const { pod, container } = this.#pods.find(step);
        return { hints: encodeHints(manager.hints(pod, container)) };
      }
      case "podHints":
        manager.removeStale(staleContainers(this.#pods.list()));
        return { hints: encodeHints(manager.podHints(this.#pods.get(step.pod))) };
      case "numaNodes":
        return { numaNodes: manager.nodesFor({ podUid: step.pod, container: step.container }) };
      case "addContainer": {
        const { pod, container } = this.#pods.find(step);
        this.#containers.set(step.containerID, { podUid: step.pod, container: step.container });
        manager.addContainer(step.containerID, pod, container);
        return {};
      }
      case "removeContainer":
        this.#containers.delete(step.containerID);
        manager.removeContainer(step.containerID);
        return {};
      case "removePod":
        this.#pods.remove(step.pod);
        return {};
    }
  }

  get #running(): MemoryManager {
    if (this.#manager === undefined) throw new Error("the manager was not started");
    return this.#manager;
  }

  #changedState(): object {
    this.#file = this.#running.takeCheckpoint() ?? this.#file;
    const { machine, assignments } = this.#running.state;
    const state = {
      machineState: Object.fromEntries(
        Array.from(machine, ([node, { assignmentCount, tables, group }]) => [
          node,
          {
            numberOfAssignments: assignmentCount,
            memoryMap: Object.fromEntries(
              Array.from(tables, ([resource, table]) => [
                resource,
                Object.fromEntries(
                  Object.entries(table).map(([field, bytes]) => [field, Number(bytes)]),
                ),
              ]),
            ),
            cells: group,
          },
        ]),
      ),
      assignments: Object.fromEntries(
        Array.from(assignments, ([podUid, ofPod]) => [
          podUid,
          Object.fromEntries(
            Array.from(ofPod, ([name, blocks]) => [
              name,
              blocks.toSorted((a, b) => compareText(a.resource, b.resource)).map(encodeBlock),
            ]),
          ),
        ]),
      ),
    };
    if (this.#shown !== undefined && differences(this.#shown, state).length === 0) return {};
    this.#shown = state;
    return state;
  }

  /** With several blocks in a container their order, and with it the file, is not defined upstream. */
  file(): object {
    const { state } = this.#running;
    const blockLists = Array.from(state.assignments.values()).flatMap((ofPod) => [
      ...ofPod.values(),
    ]);
    if (blockLists.some((blocks) => blocks.length > 1)) return {};
    return {
      checkpoint: this.#file,
      checksumInput: memoryCheckpointDump(this.#policyName, state),
    };
  }
}

function encodeBlock({ nodes, resource, sizeBytes }: MemoryBlock): object {
  return { numaAffinity: nodes, type: resource, size: Number(sizeBytes) };
}
