import type { AdmissionResult } from "../../../src/core/admission/admission.ts";
import { MemoryFiles } from "../../../src/drivers/sim/memory-files.ts";
import { PodRegistry } from "../../../src/engine/pods/pod-registry.ts";
import { PodTable } from "../../../src/engine/pods/pod-table.ts";
import { AllocationManager } from "../../../src/engine/resources/allocation/pod-allocations.ts";
import { ResizeStatuses } from "../../../src/engine/resources/allocation/resize-statuses.ts";
import { ResourceRecords } from "../../../src/engine/resources/allocation/resource-records.ts";
import type { Node } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { admitToNode } from "../../kit/admit-to-node.ts";
import { loudFaults } from "../../kit/loud-faults.ts";
import { noMetrics } from "../../kit/no-metrics.ts";
import { silentLog } from "../../kit/silent-log.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly cpuManagerPolicy: string;
  readonly memoryManagerPolicy: string;
  readonly node: Node;
  readonly pods: readonly Pod[];
  readonly sourcesReady: boolean;
  readonly steps: readonly Step[];
  readonly swapBehavior?: Readonly<Record<string, string>> | null;
}

interface Step {
  readonly op: "add" | "resize" | "push" | "retry" | "remove";
  readonly pod?: string;
  readonly newPod?: Pod;
}

export const resizeAllocation: VectorDomain = vectorDomain<Input>("resize-allocation", (input) => {
  const world = new World(input);
  return { steps: input.steps.map((step) => world.run(step)) };
});

class World {
  readonly #wanted: ReadonlyMap<string, Pod>;
  /** By name. */
  readonly #pods = new Map<string, Pod>();
  readonly #table = new PodTable();
  readonly #registry = new PodRegistry(this.#table);
  readonly #record: ResourceRecords;
  readonly #statuses: ResizeStatuses;
  readonly #manager: AllocationManager;
  #nowMs = 0;
  #events: string[] = [];
  #synced: string[] = [];

  constructor(input: Input) {
    this.#wanted = new Map(input.pods.map((pod) => [pod.metadata.name, pod]));
    this.#statuses = new ResizeStatuses(this.#table, { nowMs: () => this.#nowMs++ });
    this.#record = new ResourceRecords({
      slice: this.#table.writer("allocated"),
      files: new MemoryFiles(),
      path: "/allocated_pods_state",
      log: silentLog,
    });
    this.#manager = new AllocationManager({
      faults: loudFaults,
      allocated: this.#record,
      resizes: this.#statuses,
      resizeFacts: {
        cpuManagerPolicy: input.cpuManagerPolicy,
        memoryManagerPolicy: input.memoryManagerPolicy,
        mayUseSwap: (_pod, { name }) => (input.swapBehavior?.[name] ?? "NoSwap") !== "NoSwap",
      },
      room: {
        fits: (pod) => {
          const others = [...this.#pods.values()]
            .filter(({ metadata }) => metadata.uid !== pod.metadata.uid)
            .map((other) => this.#manager.allocatedPod(other));
          return admitToNode(pod, others, input.node);
        },
      },
      table: this.#table,
      sources: { areAllReady: input.sourcesReady },
      wakeups: {
        look: (uid) => void this.#synced.push(this.#registry.get(uid)?.metadata.name ?? uid),
      },
      events: {
        record: (_pod, { type, reason, message }) =>
          this.#events.push(`${type} ${reason} ${message}`),
      },
      metrics: noMetrics,
    });
  }

  run(step: Step): unknown {
    this.#events = [];
    this.#synced = [];
    const outcome = this.#apply(step);
    return {
      ...outcome,
      events: this.#events,
      synced: this.#synced,
      pending: this.#manager.waiting,
      pods: Object.fromEntries([...this.#pods.values()].map((pod) => this.#shown(pod))),
    };
  }

  #apply({ op, pod: name = "", newPod }: Step): object {
    switch (op) {
      case "add": {
        const pod = this.#wanted.get(name);
        if (pod === undefined) throw new Error(`no pod ${name}`);
        const result = this.#manager.add(pod);
        if (result.admit) this.#set(name, pod);
        return encodeResult(result);
      }
      case "resize":
      case "push": {
        const pod = this.#pods.get(name);
        if (pod === undefined || newPod === undefined) return { skipped: true };
        this.#set(name, newPod);
        this.#manager.queue(newPod.metadata.uid);
        if (op === "resize") this.#manager.retry("pod_updated");
        return {};
      }
      case "retry":
        this.#manager.retry("periodic_retry");
        return {};
      case "remove": {
        const pod = this.#pods.get(name);
        this.#pods.delete(name);
        if (pod === undefined) return {};
        this.#registry.remove(pod);
        this.#manager.remove(pod.metadata.uid);
        return {};
      }
    }
  }

  #set(name: string, pod: Pod): void {
    this.#pods.set(name, pod);
    this.#registry.set(pod);
  }

  #shown({ metadata }: Pod): [string, unknown] {
    const allocation = this.#record.get(metadata.uid);
    return [
      metadata.name,
      {
        containers: Object.fromEntries(allocation?.containers ?? []),
        pod: allocation?.pod,
        resizeConditions: this.#statuses.podConditions(metadata.uid).map((condition) => ({
          ...condition,
          lastProbeTime: undefined,
          lastTransitionTime: undefined,
        })),
      },
    ];
  }
}

function encodeResult(result: AdmissionResult): object {
  return { reason: "", message: "", ...result };
}
