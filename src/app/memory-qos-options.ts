// The feature MemoryQoS, by a kubelet's configuration.
import { type FeatureGateState, isFeatureEnabled } from "../config/feature-gates.ts";
import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import type { MemoryQos } from "../core/resource/memory-qos.ts";
import { amountOf, resourceList } from "../core/resource/resource-list.ts";
import { quantityValue } from "../model/quantity.ts";

const usualFactor = 0.9;

/** What the configuration says of it; undefined = off. */
export function kubeletMemoryQos(
  config: KubeletConfiguration,
  gates: FeatureGateState,
): MemoryQos | undefined {
  if (!isFeatureEnabled(gates, "MemoryQoS")) return undefined;
  const { kubeReserved, systemReserved, memoryReservationPolicy, memoryThrottlingFactor } = config;
  const reserved = [kubeReserved, systemReserved].map((list) =>
    quantityValue(amountOf(resourceList(list), "memory")),
  );
  return {
    reservesRequests: memoryReservationPolicy === "TieredReservation",
    throttlingFactor: memoryThrottlingFactor ?? usualFactor,
    reservedBytes: reserved.reduce((sum, bytes) => sum + bytes, 0n),
  };
}

/** What a machine with cgroup v1 makes of it: nothing. */
export function memoryQosWarnings(
  gates: FeatureGateState,
  cgroupVersion: 1 | 2,
): readonly string[] {
  return cgroupVersion === 1 && isFeatureEnabled(gates, "MemoryQoS")
    ? ["featureGates MemoryQoS=true: it needs cgroup v2, and this machine has cgroup v1"]
    : [];
}
