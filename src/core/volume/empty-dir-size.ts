import type { Pod } from "../../model/pod.ts";
import { mustParseQuantity, quantityValue } from "../../model/quantity.ts";
import { podCgroupResources } from "../resource/cgroup-resources.ts";

/** How much memory a volume in memory may hold: the least of what the node, the pod and the volume allow. */
export function memoryVolumeBytes(
  pod: Pod,
  sizeLimit: string | undefined,
  allocatableMemory: string | undefined,
): bigint | undefined {
  const limits = [
    sizeLimit === undefined ? undefined : quantityValue(mustParseQuantity(sizeLimit)),
    podCgroupResources(pod, { enforceCpuLimits: false, cpuPeriodUs: 100_000 }).memoryBytes,
    allocatableMemory === undefined
      ? undefined
      : quantityValue(mustParseQuantity(allocatableMemory)),
  ];
  return limits.reduce((least, limit) => {
    if (limit === undefined || limit <= 0n) return least;
    return least === undefined || limit < least ? limit : least;
  }, undefined);
}
