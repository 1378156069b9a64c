import type { CgroupResources } from "../../model/cgroup.ts";
import type { Pod } from "../../model/pod.ts";
import {
  isZeroQuantity,
  parseQuantity,
  quantityMilliValue,
  quantityValue,
} from "../../model/quantity.ts";
import { milliCpuToQuota, milliCpuToShares, minShares } from "./cpu.ts";
import { classRequestedBytes } from "./memory-qos.ts";
import { limitsInForce, podLimits, podRequests } from "./pod-resources.ts";
import { podQosClass, type QosClass } from "./qos.ts";
import { amountOf, hugePagesPrefix, type ResourceList, resourceList } from "./resource-list.ts";

export interface CpuQuotaPolicy {
  readonly enforceCpuLimits: boolean;
  readonly cpuPeriodUs: number;
}

/** What a pod's cgroup allows: the class decides which of CPU quota and memory limit are set at all. */
export function podCgroupResources(pod: Pod, policy: CpuQuotaPolicy): CgroupResources {
  const requests = podRequests(pod);
  const hugePageLimits = hugePageLimitsOf(requests);
  const qosClass = podQosClass(pod);
  if (qosClass === "BestEffort") return { cpuShares: minShares, hugePageLimits };
  const limits = podLimits(pod);
  const isGuaranteed = qosClass === "Guaranteed";
  const { enforceCpuLimits, cpuPeriodUs } = policy;
  const cpuQuotaUs = enforceCpuLimits ? milliCpuToQuota(milliCpuOf(limits), cpuPeriodUs) : -1;
  const memoryBytes = quantityValue(amountOf(limits, "memory"));
  return {
    cpuShares: milliCpuToShares(milliCpuOf(requests)),
    ...(isGuaranteed || isLimited(pod, "cpu") ? { cpuQuotaUs, cpuPeriodUs } : {}),
    ...(isGuaranteed || isLimited(pod, "memory") ? { memoryBytes } : {}),
    hugePageLimits,
  };
}

/** What the cgroup above all pods allows, or one that holds what is reserved for the system. */
export function nodeCgroupResources(
  list: ResourceList,
  compressibleOnly: boolean,
): CgroupResources {
  const cpu = list.has("cpu") ? { cpuShares: milliCpuToShares(milliCpuOf(list)) } : {};
  if (compressibleOnly) return cpu;
  const memory = list.get("memory");
  const pids = list.get("pid");
  return {
    ...cpu,
    ...(memory === undefined ? {} : { memoryBytes: quantityValue(memory) }),
    ...(pids === undefined ? {} : { pidsLimit: Number(quantityValue(pids)) }),
    hugePageLimits: hugePageLimitsOf(list),
  };
}

/** How much of what better classes ask for the lower ones may not take. */
export interface MemoryReserve {
  readonly percent: number;
  /** Of the node, for all pods; nothing is reserved while it is zero. */
  readonly allocatableBytes: bigint;
}

/** What the cgroups of the two lower QoS classes weigh and may take, by the pods that are active. */
export function qosCgroupResources(
  pods: readonly Pod[],
  reserve?: MemoryReserve,
): {
  readonly burstable: CgroupResources;
  readonly bestEffort: CgroupResources;
} {
  const burstableMilliCpu = pods
    .filter((pod) => podQosClass(pod) === "Burstable")
    .reduce((sum, pod) => sum + milliCpuOf(podRequests(pod)), 0);
  const limits = qosMemoryLimits(pods, reserve);
  return {
    burstable: {
      cpuShares: milliCpuToShares(burstableMilliCpu),
      hugePageLimits: "unbounded",
      ...(limits === undefined ? {} : { memoryBytes: limits.burstableBytes }),
    },
    bestEffort: {
      cpuShares: minShares,
      hugePageLimits: "unbounded",
      ...(limits === undefined ? {} : { memoryBytes: limits.bestEffortBytes }),
    },
  };
}

function qosMemoryLimits(pods: readonly Pod[], reserve: MemoryReserve | undefined) {
  if (reserve === undefined || reserve.allocatableBytes === 0n) return undefined;
  const reservedFor = (qosClass: QosClass): bigint =>
    (classRequestedBytes(pods, qosClass) * BigInt(reserve.percent)) / 100n;
  const burstableBytes = reserve.allocatableBytes - reservedFor("Guaranteed");
  return { burstableBytes, bestEffortBytes: burstableBytes - reservedFor("Burstable") };
}

/** A class without guarantee is limited only when every container is, or the pod as a whole. */
function isLimited(pod: Pod, name: string): boolean {
  if (!isZeroQuantity(amountOf(resourceList(pod.spec.resources?.limits), name))) return true;
  return limitsInForce(pod).every((limits) => !isZeroQuantity(amountOf(limits, name)));
}

function milliCpuOf(list: ResourceList): number {
  return Number(quantityMilliValue(amountOf(list, "cpu")));
}

function hugePageLimitsOf(list: ResourceList): ReadonlyMap<bigint, bigint> {
  const limits = new Map<bigint, bigint>();
  for (const [name, amount] of list) {
    if (!name.startsWith(hugePagesPrefix)) continue;
    const size = parseQuantity(name.slice(hugePagesPrefix.length));
    const sizeBytes = size.ok ? quantityValue(size.value) : 0n;
    limits.set(sizeBytes, (limits.get(sizeBytes) ?? 0n) + quantityValue(amount));
  }
  return limits;
}
