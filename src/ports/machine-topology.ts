import type { MachineTopology } from "../model/machine-topology.ts";

/** How the CPUs and the memory of the machine are arranged. */
export interface MachineTopologyReader {
  /** CPUs that are offline are left out. */
  read(): Promise<MachineTopology>;
}
