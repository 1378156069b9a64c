import { cpuSetText } from "../../model/cpu-set.ts";
import type { Container } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { CpuManager } from "./cpu/cpu-manager.ts";
import type { MemoryManager } from "./memory/memory-manager.ts";
import type { TopologyManager } from "./topology/topology-manager.ts";

/** Where a container runs and has its memory, for its config; "" is anywhere. */
interface ContainerPlacement {
  readonly cpusetCpus: string;
  readonly cpusetMems: string;
}

/** What the managers of CPUs, memory and topology do in the life of a container. */
export class ContainerLifecycle {
  readonly #cpus: CpuManager;
  readonly #memory: MemoryManager;
  readonly #topology: TopologyManager;

  constructor(cpus: CpuManager, memory: MemoryManager, topology: TopologyManager) {
    this.#cpus = cpus;
    this.#memory = memory;
    this.#topology = topology;
  }

  beforeCreation(pod: Pod, container: Container): ContainerPlacement {
    const ref = { podUid: pod.metadata.uid, container: container.name };
    return {
      cpusetCpus: cpuSetText(this.#cpus.cpusFor(ref)),
      cpusetMems: this.#memory.nodesFor(ref).join(","),
    };
  }

  beforeStart(pod: Pod, container: Container, containerId: string): void {
    const ref = { podUid: pod.metadata.uid, container: container.name };
    this.#cpus.addContainer(containerId, ref);
    this.#memory.addContainer(containerId, pod, container);
    this.#topology.addContainer(containerId, ref);
  }

  /** CPUs and memory stay the container's, for its restart. */
  afterStop(containerId: string): void {
    this.#topology.removeContainer(containerId);
  }
}
