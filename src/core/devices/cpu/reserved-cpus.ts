import { err, ok, type Result } from "../../../lib/result.ts";
import {
  areCpusWithin,
  type CpuSet,
  cpuSetText,
  noCpus,
  parseCpuSet,
} from "../../../model/cpu-set.ts";
import type { MachineTopology } from "../../../model/machine-topology.ts";
import { cpusOf, cpuTopology } from "./cpu-topology.ts";

/** The CPUs that are reserved by number: each must be online. */
export function reservedCpus(machine: MachineTopology, text: string): Result<CpuSet, string> {
  if (text === "") return ok(noCpus);
  const topology = cpuTopology(machine);
  if (!topology.ok) return err(`unable to discover CPU topology info: ${topology.error}`);
  const cpus = parseCpuSet(text);
  if (!cpus.ok) return err(`unable to parse reserved-cpus list: ${cpus.error}`);
  const online = cpusOf(topology.value.places);
  return areCpusWithin(cpus.value, online)
    ? cpus
    : err(`reserved-cpus: ${text} is not a subset of online-cpus: ${cpuSetText(online)}`);
}
