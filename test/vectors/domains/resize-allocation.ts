import type { AdmissionResult } from "../../../src/core/admission/admission.ts";
import { admitToNode } from "../../../src/core/admission/node-admission.ts";
import type { PodResources } from "../../../src/core/allocation/pod-allocation.ts";
import { AllocationManager } from "../../../src/engine/resources/allocation/allocation-manager.ts";
import { ResizeStatuses } from "../../../src/engine/resources/allocation/resize-statuses.ts";
import type { Node } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { loudFaults } from "../../kit/loud-faults.ts";
import { noMetrics } from "../../kit/no-metrics.ts";
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
  readonly #record = new Map<string, PodResources>();
  readonly #statuses: ResizeStatuses;
  readonly #manager: AllocationManager;
  #nowMs = 0;
  #events: string[] = [];
  #synced: string[] = [];

  constructor(input: Input) {
    this.#wanted = new Map(input.pods.map((pod) => [pod.metadata.name, pod]));
    this.#statuses = new ResizeStatuses({
      clock: { nowMs: () => this.#nowMs++ },
      metrics: noMetrics,
    });
    this.#manager = new AllocationManager({
      faults: loudFaults,
      record: {
        get: (uid) => this.#record.get(uid),
        set: (uid, resources) => this.#record.set(uid, resources),
        remove: (uid) => this.#record.delete(uid),
        keepOnly: () => {},
      },
      statuses: this.#statuses,
      resizeFacts: {
        cpuManagerPolicy: input.cpuManagerPolicy,
        memoryManagerPolicy: input.memoryManagerPolicy,
        mayUseSwap: (_pod, { name }) => (input.swapBehavior?.[name] ?? "NoSwap") !== "NoSwap",
      },
      fits: (pod, others) => admitToNode(pod, others, input.node),
      activePods: () => [...this.#pods.values()],
      findPod: (uid) => [...this.#pods.values()].find(({ metadata }) => metadata.uid === uid),
      sources: { areAllHeard: input.sourcesReady },
      onResize: (pod) => this.#synced.push(pod.metadata.name),
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
        if (result.admit) this.#pods.set(name, pod);
        return encodeResult(result);
      }
      case "resize":
      case "push": {
        const pod = this.#pods.get(name);
        if (pod === undefined || newPod === undefined) return { skipped: true };
        this.#pods.set(name, newPod);
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
        if (pod !== undefined) this.#manager.remove(pod.metadata.uid);
        return {};
      }
    }
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
