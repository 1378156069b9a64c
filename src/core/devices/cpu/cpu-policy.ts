import { compareText } from "../../../lib/compare-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type { CpuSet } from "../../../model/cpu-set.ts";
import type { MachineTopology } from "../../../model/machine-topology.ts";
import { isZeroQuantity, type Quantity, quantityMilliValue } from "../../../model/quantity.ts";
import { type CpuTopology, cpuTopology } from "./cpu-topology.ts";
import { type OptionGates, parseStaticOptions, staticOptionsProblem } from "./static-options.ts";
import { type StaticPolicy, staticPolicy } from "./static-policy.ts";

/** As the kubelet's configuration, and what follows from it, has them. */
export interface CpuSettings {
  readonly policy: string;
  readonly options: Readonly<Record<string, string>>;
  readonly optionGates: OptionGates;
  /** The CPUs that the node reserves; undefined where that is not known. */
  readonly reservation: Quantity | undefined;
  /** The reserved CPUs by number; none where the lowest are taken. */
  readonly reservedCpus: CpuSet;
  readonly topologyPolicy: string;
}

export interface CpuPolicy {
  readonly name: "none" | "static";
  readonly topology: CpuTopology;
  /** Absent for the policy none: no container gets CPUs of its own. */
  readonly exclusive?: StaticPolicy;
}

export function cpuPolicy(
  settings: CpuSettings,
  machine: MachineTopology,
): Result<CpuPolicy, string> {
  const found = cpuTopology(machine);
  if (!found.ok) return found;
  const topology = found.value;
  if (settings.policy === "none") {
    const unused = Object.entries(settings.options).toSorted(([a], [b]) => compareText(a, b));
    if (unused.length === 0) return ok({ name: "none", topology });
    const text = unused.map(([name, value]) => `${name}:${value}`).join(" ");
    return err(`new none policy error: None policy: received unsupported options=map[${text}]`);
  }
  if (settings.policy !== "static") return err(`unknown policy: "${settings.policy}"`);
  const { reservation } = settings;
  if (reservation === undefined) {
    return err("[cpumanager] unable to determine reserved CPU resources for static policy");
  }
  if (isZeroQuantity(reservation)) {
    return err(
      "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero",
    );
  }
  const exclusive = exclusivePolicy(settings, topology, reservation);
  return exclusive.ok
    ? ok({ name: "static", topology, exclusive: exclusive.value })
    : err(`new static policy error: ${exclusive.error}`);
}

function exclusivePolicy(
  settings: CpuSettings,
  topology: CpuTopology,
  reservation: Quantity,
): Result<StaticPolicy, string> {
  const options = parseStaticOptions(settings.options, settings.optionGates);
  if (!options.ok) return options;
  const problem = staticOptionsProblem(options.value, topology, settings.topologyPolicy);
  if (problem !== undefined) return err(problem);
  const count = Math.ceil(Number(quantityMilliValue(reservation)) / 1000);
  return staticPolicy(topology, options.value, { count, cpus: settings.reservedCpus });
}
