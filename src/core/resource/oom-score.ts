import { type AnyContainer, isSidecar, type Pod } from "../../model/pod.ts";
import { isZeroQuantity, quantityValue } from "../../model/quantity.ts";
import { isNodeCriticalPod } from "./critical.ts";
import { aggregateContainerRequests, hasPodLevelRequests } from "./pod-resources.ts";
import { podQosClass } from "./qos.ts";
import { amountOf, resourceList } from "./resource-list.ts";

const guaranteedAdjust = -997;
const bestEffortAdjust = 1000;

/** How much sooner (1000) or later (-1000) the kernel kills the container's processes when memory runs out. */
export function containerOomScoreAdjust(
  pod: Pod,
  container: AnyContainer,
  memoryCapacityBytes: number,
): number {
  if (isNodeCriticalPod(pod)) return guaranteedAdjust;
  const qosClass = podQosClass(pod);
  if (qosClass === "Guaranteed") return guaranteedAdjust;
  if (qosClass === "BestEffort") return bestEffortAdjust;
  return burstableAdjust(pod, container, BigInt(memoryCapacityBytes));
}

/** The more of the node's memory a container asked for, the later it goes; always between the other classes. */
function burstableAdjust(pod: Pod, container: AnyContainer, capacity: bigint): number {
  const share = unclaimedMemoryPerContainer(pod);
  const adjustFor = (memory: bigint) => Number(1000n - (1000n * (memory + share)) / capacity);
  let adjust = adjustFor(requestedMemory(container));
  if (isSidecarOf(pod, container)) {
    // A sidecar outlives the containers that need it.
    const regular = pod.spec.containers.map((other) => adjustFor(requestedMemory(other)));
    adjust = Math.min(adjust, Math.max(...regular));
  }
  const lowest = 1000 + guaranteedAdjust;
  if (adjust < lowest) return lowest;
  return adjust === bestEffortAdjust ? adjust - 1 : adjust;
}

/** What the pod as a whole asks for beyond its containers, in equal parts. */
function unclaimedMemoryPerContainer(pod: Pod): bigint {
  if (!hasPodLevelRequests(pod)) return 0n;
  const podMemory = amountOf(resourceList(pod.spec.resources?.requests), "memory");
  if (isZeroQuantity(podMemory)) return 0n;
  const claimed = amountOf(aggregateContainerRequests(pod), "memory");
  const count = pod.spec.containers.length + (pod.spec.initContainers?.length ?? 0);
  return (quantityValue(podMemory) - quantityValue(claimed)) / BigInt(count);
}

function requestedMemory(container: AnyContainer): bigint {
  return quantityValue(amountOf(resourceList(container.resources?.requests), "memory"));
}

function isSidecarOf(pod: Pod, container: AnyContainer): boolean {
  const isInit = pod.spec.initContainers?.some(({ name }) => name === container.name) === true;
  return isInit && isSidecar(container);
}
