import type { MachineTopology } from "../../model/machine-topology.ts";

const cpusPerNode = 32;

/** 64 CPUs in two NUMA nodes. */
export const simTopology: MachineTopology = {
  cpuCount: 2 * cpusPerNode,
  socketCount: 2,
  numaNodes: [0, 1].map((id) => ({
    id,
    memoryBytes: 32n * 1024n ** 3n,
    hugePages: [],
    distances: id === 0 ? [10, 20] : [20, 10],
    cores: Array.from({ length: cpusPerNode }, (_, index) => ({
      socket: id,
      cpus: [id * cpusPerNode + index],
      uncoreCaches: [id],
    })),
  })),
};
