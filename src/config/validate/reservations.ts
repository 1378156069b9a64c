import { quoteText } from "../../lib/go-text.ts";
import { parseCpuSet } from "../../model/cpu-set.ts";
import { mustParseQuantity, quantityMilliValue } from "../../model/quantity.ts";
import type {
  KubeletConfiguration,
  MemoryReservation,
} from "../generated/kubelet-configuration.ts";
import { type Check, when } from "./checked-config.ts";

const enforceText = "enforceNodeAllocatable (--enforce-node-allocatable)";
const levels = [
  "pods",
  "system-reserved",
  "system-reserved-compressible",
  "kube-reserved",
  "kube-reserved-compressible",
  "none",
];

/** What of the node is kept for others than pods, and how that is enforced. */
export const checkEnforcement: Check = ({ config }) => {
  const wanted = config.enforceNodeAllocatable ?? [];
  const seen = new Set<string>();
  return [
    ...bothProblem(wanted, "system-reserved"),
    ...bothProblem(wanted, "kube-reserved"),
    ...wanted.flatMap((level) => {
      if (seen.has(level)) {
        return when(true, `duplicated enforcements ${quoteText(level)} in ${enforceText}`);
      }
      seen.add(level);
      return levelProblems(level, config);
    }),
  ];
};

function bothProblem(wanted: readonly string[], level: string): readonly string[] {
  return when(
    wanted.includes(level) && wanted.includes(`${level}-compressible`),
    `both "${level}" and "${level}-compressible" cannot be specified together in ${enforceText}`,
  );
}

function levelProblems(level: string, config: KubeletConfiguration): readonly string[] {
  const quoted = levels.map(quoteText);
  if (level === "none") {
    return when(
      (config.enforceNodeAllocatable ?? []).length > 1,
      `${enforceText} may not contain additional enforcements when "none" is specified`,
    );
  }
  if (!levels.includes(level)) {
    return when(
      true,
      `option ${quoteText(level)} specified for ${enforceText}. Valid options are ${quoted.slice(0, -1).join(", ")} or "none"`,
    );
  }
  return [
    ...missingCgroup(level, "system-reserved", config.systemReservedCgroup),
    ...missingCgroup(level, "kube-reserved", config.kubeReservedCgroup),
    ...when(
      !config.cgroupsPerQOS,
      `cgroupsPerQOS (--cgroups-per-qos) must be set to true when ${quoteText(level)} contained in ${enforceText}`,
    ),
  ];
}

function missingCgroup(
  level: string,
  group: "system-reserved" | "kube-reserved",
  cgroup: string,
): readonly string[] {
  const field = group === "system-reserved" ? "systemReservedCgroup" : "kubeReservedCgroup";
  return when(
    (level === group || level === `${group}-compressible`) && cgroup === "",
    `${field} (--${group}-cgroup) must be specified when "${group}" or "${group}-compressible" included in ${enforceText}`,
  );
}

/** CPUs and memory that are set aside by number. */
export const checkReservedResources: Check = ({ config }) => [
  ...checkReservedCpus(config),
  ...checkReservedMemory(config.reservedMemory ?? []),
];

function checkReservedCpus(config: KubeletConfiguration): readonly string[] {
  const { reservedSystemCPUs: cpus, systemReservedCgroup, kubeReservedCgroup } = config;
  if (cpus === "") return [];
  const parsed = parseCpuSet(cpus);
  return [
    ...when(
      systemReservedCgroup !== "" || kubeReservedCgroup !== "",
      "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
    ),
    ...(parsed.ok
      ? []
      : when(
          true,
          `unable to parse reservedSystemCPUs (--reserved-cpus) ${cpus}, error: ${parsed.error}`,
        )),
  ];
}

function checkReservedMemory(reservations: readonly MemoryReservation[]): readonly string[] {
  const seen = new Set<string>();
  return reservations.flatMap(({ numaNode, limits }) =>
    Object.entries(limits ?? {}).flatMap(([resource, quantity]) => {
      const isKnown = resource === "memory" || resource.startsWith("hugepages-");
      const isZero = quantityMilliValue(mustParseQuantity(quantity)) === 0n;
      const key = `${numaNode}/${resource}`;
      const isRepeated = seen.has(key);
      seen.add(key);
      return [
        ...when(
          !isKnown,
          `the limit type ${quoteText(resource)} for NUMA node ${numaNode} is not supported, only [memory hugepages-<HugePageSize>] is accepted`,
        ),
        ...when(
          isZero,
          `reserved memory may not be zero for NUMA node ${numaNode} and resource ${quoteText(resource)}`,
        ),
        ...when(
          isRepeated,
          `the reserved memory has a duplicate value for NUMA node ${numaNode} and resource ${quoteText(resource)}`,
        ),
      ];
    }),
  );
}
