import type { LinuxContainerResources } from "../../model/generated/cri.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import { compareQuantity, isZeroQuantity, quantityValue } from "../../model/quantity.ts";
import { isCriticalPod } from "../resource/critical.ts";
import { podQosClass } from "../resource/qos.ts";
import { amountOf, resourceList } from "../resource/resource-list.ts";
import type { RuntimeSettings } from "./runtime-settings.ts";

/** How a container may use swap on this node. */
export function containerSwapBehavior(
  pod: Pod,
  container: AnyContainer,
  { swap, cgroupVersion }: Pick<RuntimeSettings, "swap" | "cgroupVersion">,
): "NoSwap" | "LimitedSwap" {
  if (swap.behavior !== "LimitedSwap" || !swap.controllerAvailable) return "NoSwap";
  if (cgroupVersion === 1 || isCriticalPod(pod) || podQosClass(pod) !== "Burstable") {
    return "NoSwap";
  }
  const request = amountOf(resourceList(container.resources?.requests), "memory");
  const limit = amountOf(resourceList(container.resources?.limits), "memory");
  const asksForNoMemory = isZeroQuantity(request) && isZeroQuantity(limit);
  return asksForNoMemory || compareQuantity(request, limit) === 0 ? "NoSwap" : "LimitedSwap";
}

/** Adds the container's swap limit where the kernel can enforce one. */
export function withSwap(
  resources: LinuxContainerResources,
  pod: Pod,
  container: AnyContainer,
  settings: RuntimeSettings,
): LinuxContainerResources {
  if (!settings.swap.controllerAvailable) return resources;
  if (settings.cgroupVersion === 1) {
    // Memory and swap together limited to the memory limit: no swap.
    return { ...resources, memorySwapLimitInBytes: resources.memoryLimitInBytes };
  }
  const behavior = containerSwapBehavior(pod, container, settings);
  const swapBytes = behavior === "LimitedSwap" ? fairShareBytes(container, settings) : 0n;
  return { ...resources, unified: { ...resources.unified, "memory.swap.max": `${swapBytes}` } };
}

/** The part of the node's swap that corresponds to the part of its memory that was asked for. */
function fairShareBytes(
  container: AnyContainer,
  { memoryCapacityBytes, swap }: RuntimeSettings,
): bigint {
  const requests = resourceList(container.resources?.requests);
  const requestBytes = Number(quantityValue(amountOf(requests, "memory")));
  if (memoryCapacityBytes <= 0 || requestBytes > memoryCapacityBytes) return 0n;
  return BigInt(Math.trunc((requestBytes / memoryCapacityBytes) * swap.capacityBytes));
}
