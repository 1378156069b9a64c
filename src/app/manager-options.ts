// How CPUs and memory are handed out on this machine, by a kubelet's configuration.
import { type FeatureGateState, isFeatureEnabled } from "../config/feature-gates.ts";
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { cpuPolicy } from "../core/devices/cpu/cpu-policy.ts";
import { reservedCpus } from "../core/devices/cpu/reserved-cpus.ts";
import type { OptionGates } from "../core/devices/cpu/static-options.ts";
import { memoryPolicy } from "../core/devices/memory/memory-policy.ts";
import type { NodeReservation } from "../core/devices/memory/reserved-memory.ts";
import { type TopologySettings, topologyPolicy } from "../core/devices/topology/topology-policy.ts";
import { type ResourceList, resourceList } from "../core/resource/resource-list.ts";
import type { ManagerGates, ManagerSettings } from "../engine/devices/manager-settings.ts";
import { millisecondsOf } from "../lib/duration.ts";
import type { Result } from "../lib/result.ts";
import { SetupError } from "../lib/setup-error.ts";
import { parseCpuSet } from "../model/cpu-set.ts";
import type { MachineTopology } from "../model/machine-topology.ts";

/** What the operator asks for, before the machine is known. */
export interface ManagerOptions {
  readonly cpu: {
    readonly policy: string;
    readonly options: Readonly<Record<string, string>>;
    readonly gates: OptionGates;
    readonly reconcileMs: number;
    /** By their numbers; "" where the lowest are taken. */
    readonly reserved: string;
  };
  readonly memory: {
    readonly policy: string;
    readonly reserved: readonly NodeReservation[];
  };
  readonly topology: TopologySettings;
  readonly gates: ManagerGates;
}

/** No container has CPUs or memory of its own. */
export const defaultManagerOptions: ManagerOptions = {
  cpu: {
    policy: "none",
    options: {},
    gates: { alpha: false, beta: true },
    reconcileMs: 10_000,
    reserved: "",
  },
  memory: { policy: "None", reserved: [] },
  topology: { policy: "none", scope: "container", options: {} },
  gates: { keepsQuota: false, reportsHealth: true, listsEndedPods: false },
};

export function kubeletManagerOptions(
  config: KubeletConfiguration,
  gates: FeatureGateState,
): ManagerOptions {
  return {
    cpu: {
      policy: config.cpuManagerPolicy,
      options: config.cpuManagerPolicyOptions ?? {},
      gates: {
        alpha: isFeatureEnabled(gates, "CPUManagerPolicyAlphaOptions"),
        beta: isFeatureEnabled(gates, "CPUManagerPolicyBetaOptions"),
      },
      reconcileMs: millisecondsOf(config.cpuManagerReconcilePeriod),
      reserved: config.reservedSystemCPUs,
    },
    memory: {
      policy: config.memoryManagerPolicy,
      reserved: (config.reservedMemory ?? []).map(({ numaNode, limits }) => ({
        numaNode,
        limits: resourceList(limits),
      })),
    },
    topology: {
      policy: config.topologyManagerPolicy,
      scope: config.topologyManagerScope,
      options: config.topologyManagerPolicyOptions ?? {},
    },
    gates: {
      keepsQuota: !isFeatureEnabled(gates, "DisableCPUQuotaWithExclusiveCPUs"),
      reportsHealth: isFeatureEnabled(gates, "ResourceHealthStatus"),
      listsEndedPods: !isFeatureEnabled(gates, "KubeletPodResourcesListUseActivePods"),
    },
  };
}

/** CPUs that are reserved by number take the place of amounts of CPU that are reserved. */
export function withReservedCpus(config: KubeletConfiguration): KubeletConfiguration {
  const cpus = parseCpuSet(config.reservedSystemCPUs);
  if (!cpus.ok || cpus.value.length === 0) return config;
  const { cpu: _cpu, ...kubeReserved } = config.kubeReserved ?? {};
  const systemReserved = { ...config.systemReserved, cpu: String(cpus.value.length) };
  return { ...config, kubeReserved, systemReserved };
}

/** Throws a SetupError that names the field. `reservation`: what the node keeps from pods. */
export function managerSettings(
  { cpu, memory, topology, gates }: ManagerOptions,
  machine: MachineTopology,
  reservation: ResourceList,
): ManagerSettings {
  const reserved = fitting("reservedSystemCPUs", reservedCpus(machine, cpu.reserved));
  return {
    cpu: fitting(
      "cpuManagerPolicy",
      cpuPolicy(
        {
          policy: cpu.policy,
          options: cpu.options,
          optionGates: cpu.gates,
          reservation: reservation.get("cpu"),
          reservedCpus: reserved,
          topologyPolicy: topology.policy,
        },
        machine,
      ),
    ),
    memory: fitting(
      "memoryManagerPolicy",
      memoryPolicy(
        { policy: memory.policy, nodeReservation: reservation, reservedMemory: memory.reserved },
        machine.numaNodes,
      ),
    ),
    topology: fitting("topologyManagerPolicy", topologyPolicy(topology, machine.numaNodes)),
    cpuReconcileMs: cpu.reconcileMs,
    gates,
  };
}

function fitting<T>(field: string, result: Result<T, string>): T {
  if (result.ok) return result.value;
  throw new SetupError(`${field}: ${result.error}`, "correct the configuration");
}
