import { parseThresholds } from "../../../src/core/eviction/parse-thresholds.ts";
import {
  allocatableProblem,
  allocatableReservation,
  enforcedAllocatable,
} from "../../../src/core/node/node-allocatable.ts";
import { formatResourceList } from "../../../src/core/node/node-capacity.ts";
import { nodeCgroupResources } from "../../../src/core/resource/cgroup-resources.ts";
import { resourceList } from "../../../src/core/resource/resource-list.ts";
import type { CgroupResources } from "../../../src/model/cgroup.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

type Resources = Readonly<Record<string, string>>;

interface Input {
  readonly capacity: Resources;
  readonly internalCapacity: Resources;
  readonly kubeReserved: Resources | null;
  readonly systemReserved: Resources | null;
  readonly evictionHard: Resources | null;
}

export const nodeAllocatableDomain: VectorDomain = vectorDomain<Input>(
  "node-allocatable",
  (input) => {
    const capacity = resourceList(input.capacity);
    const internalCapacity = resourceList(input.internalCapacity);
    const thresholds = parseThresholds({
      evictionHard: input.evictionHard ?? {},
      evictionSoft: {},
      evictionSoftGracePeriod: {},
      evictionMinimumReclaim: {},
      enforceNodeAllocatable: [],
    });
    if (!thresholds.ok) throw new Error(thresholds.error);
    const reservations = {
      kubeReserved: resourceList(input.kubeReserved ?? {}),
      systemReserved: resourceList(input.systemReserved ?? {}),
      hardThresholds: thresholds.value.thresholds,
    };
    const enforced = enforcedAllocatable(internalCapacity, reservations);
    return {
      reservation: formatResourceList(allocatableReservation(capacity, reservations)),
      allocatableAbsolute: formatResourceList(enforcedAllocatable(capacity, reservations)),
      allocatableAbsoluteInternal: formatResourceList(enforced),
      validationError: allocatableProblem(capacity, reservations) ?? "",
      podsCgroup: encodeCgroup(nodeCgroupResources(enforced, false)),
    };
  },
);

function encodeCgroup(resources: CgroupResources): unknown {
  const { cpuShares, memoryBytes, pidsLimit, hugePageLimits } = resources;
  return {
    cpuShares,
    memory: memoryBytes === undefined ? undefined : Number(memoryBytes),
    pidsLimit,
    hugePageLimit: Object.fromEntries(
      [...(hugePageLimits instanceof Map ? hugePageLimits : [])].map(([size, limit]) => [
        String(size),
        Number(limit),
      ]),
    ),
  };
}
