import {
  cpusOf,
  cpusPerCore,
  cpusPerSocket,
  cpusPerUncoreCache,
  cpuTopology,
  partsOf,
} from "../../../src/core/devices/cpu/cpu-topology.ts";
import { cpuSetText } from "../../../src/model/cpu-set.ts";
import { type EncodedMachine, machineTopology } from "../machine-encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly machineInfo: EncodedMachine;
}

export const cpuTopologyDomain: VectorDomain = vectorDomain<Input>(
  "cpu-topology",
  ({ machineInfo }) => {
    const found = cpuTopology(machineTopology(machineInfo));
    if (!found.ok) return { error: found.error };
    const topology = found.value;
    return {
      numCPUs: topology.cpuCount,
      numCores: topology.coreCount,
      numSockets: topology.socketCount,
      numNUMANodes: topology.numaNodeCount,
      numUncoreCache: topology.uncoreCacheCount,
      cpusPerCore: cpusPerCore(topology),
      cpusPerSocket: cpusPerSocket(topology),
      cpusPerUncore: cpusPerUncoreCache(topology),
      cpus: cpuSetText(cpusOf(topology.places)),
      numaNodes: cpuSetText(partsOf(topology.places, "numaNode")),
      cpuDetails: Object.fromEntries(topology.places),
    };
  },
);
