// The feature MemoryQoS: how the kernel divides memory among pods on cgroup v2.
import type { AnyContainer, Pod } from "../../model/pod.ts";
import { quantityValue } from "../../model/quantity.ts";
import { podRequests } from "./pod-resources.ts";
import { podQosClass, type QosClass } from "./qos.ts";
import { amountOf, resourceList } from "./resource-list.ts";

/** Files of a cgroup and what is written to them. */
type CgroupFiles = Readonly<Record<string, string>>;

export interface MemoryQos {
  /** Whether requested memory is kept for those who requested it (memoryReservationPolicy TieredReservation). */
  readonly reservesRequests: boolean;
  /** The part of the way from its request to its limit that a container goes before the kernel slows it down. */
  readonly throttlingFactor: number;
  /** What is kept from pods: the rest of the machine is the limit of containers without one. */
  readonly reservedBytes: bigint;
}

// The kernel rounds down to its own page size, a multiple of this.
const pageBytes = 4096;

/** What a container's own cgroup has beside its limit; a Guaranteed container is not slowed down. */
export function containerMemoryFiles(
  pod: Pod,
  container: AnyContainer,
  memoryQos: MemoryQos,
  machineBytes: number,
): CgroupFiles {
  const { requests, limits } = container.resources ?? {};
  const requestBytes = quantityValue(amountOf(resourceList(requests), "memory"));
  const limitBytes = quantityValue(amountOf(resourceList(limits), "memory"));
  const files = memoryQos.reservesRequests ? protection(pod, requestBytes) : undefined;
  const protecting = files ?? { "memory.min": "0", "memory.low": "0" };
  if (requestBytes === limitBytes) return protecting;
  const allocatableBytes = BigInt(machineBytes) - memoryQos.reservedBytes;
  const endBytes = Number(limitBytes === 0n ? allocatableBytes : limitBytes);
  const startBytes = Number(requestBytes);
  const exactBytes = startBytes + (endBytes - startBytes) * memoryQos.throttlingFactor;
  const highBytes = Math.trunc(Math.floor(exactBytes) / pageBytes) * pageBytes;
  if (endBytes <= 0 || highBytes <= startBytes) return protecting;
  return { ...protecting, "memory.high": String(highBytes) };
}

/** What the cgroup of a pod has beside its limits; undefined leaves it as the kernel made it. */
export function podMemoryFiles(pod: Pod, memoryQos: MemoryQos): CgroupFiles | undefined {
  return memoryQos.reservesRequests ? protection(pod, requestedBytes(pod)) : undefined;
}

/** Memory that the kernel keeps for pods of a class, or takes last. */
export interface ClassMemory {
  readonly guaranteedBytes: bigint;
  readonly burstableBytes: bigint;
}

/** What the cgroups above those of pods must keep for what is in them to be kept. */
export function classMemory(pods: readonly Pod[], memoryQos: MemoryQos): ClassMemory {
  if (!memoryQos.reservesRequests) return { guaranteedBytes: 0n, burstableBytes: 0n };
  return {
    guaranteedBytes: classRequestedBytes(pods, "Guaranteed"),
    burstableBytes: classRequestedBytes(pods, "Burstable"),
  };
}

/** The same as files of the cgroup of all pods and of that of the class burstable, which lies in it. */
export function classMemoryFiles({ guaranteedBytes, burstableBytes }: ClassMemory): {
  readonly root: CgroupFiles;
  readonly burstable: CgroupFiles;
} {
  return {
    root: { "memory.min": String(guaranteedBytes + burstableBytes) },
    burstable: { "memory.low": String(burstableBytes) },
  };
}

/** What the pods of a class request together. */
export function classRequestedBytes(pods: readonly Pod[], qosClass: QosClass): bigint {
  return pods
    .filter((pod) => podQosClass(pod) === qosClass)
    .reduce((sum, pod) => sum + requestedBytes(pod), 0n);
}

function requestedBytes(pod: Pod): bigint {
  return quantityValue(amountOf(podRequests(pod), "memory"));
}

/** Memory of a Guaranteed pod is never taken, that of others last. */
function protection(pod: Pod, bytes: bigint): CgroupFiles | undefined {
  if (bytes === 0n) return undefined;
  const file = podQosClass(pod) === "Guaranteed" ? "memory.min" : "memory.low";
  return { [file]: String(bytes) };
}
