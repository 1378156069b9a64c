import { defaultFeatureGates } from "../../../src/config/feature-gates.ts";
import { parseCommandLine } from "../../../src/config/flags/command-line.ts";
import { FlagSet } from "../../../src/config/flags/flag-set.ts";
import type { KubeletConfiguration } from "../../../src/config/generated/kubelet-configuration.ts";
import { kubeletFlags } from "../../../src/config/generated/kubelet-flags.ts";
import { validateConfig } from "../../../src/config/validate/validate-config.ts";
import { reservedCpus } from "../../../src/core/devices/cpu/reserved-cpus.ts";
import { systemReservedMemory } from "../../../src/core/devices/memory/reserved-memory.ts";
import { resourceList } from "../../../src/core/resource/resource-list.ts";
import { cpuSetText } from "../../../src/model/cpu-set.ts";
import { type EncodedMachine, machineTopology } from "../machine-encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

type Amounts = Readonly<Record<string, string>>;

interface MachineInput {
  readonly machineInfo: EncodedMachine;
  readonly nodeReservation: Amounts | null;
  readonly reservedMemory:
    | readonly { readonly numaNode?: number; readonly limits?: Amounts }[]
    | null;
}

type Input =
  | { readonly kind: "reservedMemoryFlag"; readonly values: readonly string[] }
  | ({ readonly kind: "config" } & Partial<KubeletConfiguration>)
  | ({ readonly kind: "machine" } & MachineInput)
  | { readonly kind: "reservedCPUs"; readonly machineInfo: EncodedMachine; readonly cpus: string };

export const reservedResources: VectorDomain = vectorDomain<Input>(
  "reserved-resources",
  (input) => {
    switch (input.kind) {
      case "reservedMemoryFlag":
        return readFlag(input.values);
      case "config": {
        const { kind: _kind, ...settings } = input;
        const config = { ...defaultConfig(), ...settings };
        return { validationErrors: validateConfig(config, defaultFeatureGates, 2).toSorted() };
      }
      case "machine":
        return machineReservation(input);
      case "reservedCPUs": {
        const cpus = reservedCpus(machineTopology(input.machineInfo), input.cpus);
        return cpus.ok ? { cpus: cpuSetText(cpus.value) } : { error: cpus.error };
      }
    }
  },
);

function readFlag(values: readonly string[]): unknown {
  const flag = kubeletFlags.find(({ name }) => name === "reserved-memory");
  if (flag === undefined) throw new Error("there is no flag --reserved-memory");
  const flags = new FlagSet(defaultConfig());
  for (const [failedAt, text] of values.entries()) {
    const error = flags.set(flag, text);
    if (error !== undefined) return { error, failedAt };
  }
  return {
    reservedMemory: flags.config.reservedMemory,
    string: flags.settings.get("reserved-memory") ?? "",
  };
}

function machineReservation({
  machineInfo,
  nodeReservation,
  reservedMemory,
}: MachineInput): unknown {
  const reserved = systemReservedMemory(
    machineTopology(machineInfo).numaNodes,
    resourceList(nodeReservation ?? {}),
    (reservedMemory ?? []).map(({ numaNode = 0, limits }) => ({
      numaNode,
      limits: resourceList(limits),
    })),
  );
  if (!reserved.ok) return { error: reserved.error };
  return {
    systemReserved: Object.fromEntries(
      Array.from(reserved.value, ([node, ofNode]) => [
        node,
        Object.fromEntries(Array.from(ofNode, ([resource, bytes]) => [resource, Number(bytes)])),
      ]),
    ),
  };
}

function defaultConfig(): KubeletConfiguration {
  const parsed = parseCommandLine([]);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value.config;
}
