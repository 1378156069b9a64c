import { compareText } from "../../lib/compare-text.ts";
import { cpuSetText } from "../../model/cpu-set.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import type { NodeResource } from "../../model/holding.ts";
import { bytesText } from "./describe-holdings.ts";
import type { MemoryManager } from "./memory/memory-manager.ts";
import type { DeviceManager } from "./plugin/device-manager.ts";
import type { ResourceManagers } from "./pod-resources.ts";

/** What the node has of each resource, and what of it can still be handed out. */
export function describeResources(
  { cpus, memory, devices }: ResourceManagers,
  { status }: Node,
): NodeResource[] {
  const { capacity = {}, allocatable = {} } = status ?? {};
  const { inventory } = devices;
  const own = [...inventory.healthyByResource().keys()].toSorted(compareText);
  const others = Object.keys(capacity).filter((resource) => !own.includes(resource));
  const free = (resource: string): string | undefined =>
    resource === "cpu" && cpus.allocatableCpus().length > 0
      ? cpuSetText(cpus.freeCpus())
      : freeMemory(memory, resource);
  return [
    ...others.map((resource) => ({
      resource,
      capacity: capacity[resource] ?? "0",
      allocatable: allocatable[resource] ?? "0",
      free: free(resource),
    })),
    ...own.map((resource) => describeDevices(devices, resource)),
  ];
}

function freeMemory(memory: MemoryManager, resource: string): string | undefined {
  if (memory.allocatableMemory().every((block) => block.resource !== resource)) return undefined;
  return Array.from(memory.state.machine, ([node, { tables }]) => {
    const { free = 0n } = tables.get(resource) ?? {};
    return `${bytesText(free)} of NUMA node ${node}`;
  }).join(", ");
}

/** Counted as the node reports them. */
function describeDevices({ inventory, inUse }: DeviceManager, resource: string): NodeResource {
  const healthy = [...(inventory.healthy(resource) ?? [])];
  const unhealthy = [...inventory.unhealthy(resource)];
  return {
    resource,
    capacity: String(healthy.length + unhealthy.length),
    allocatable: String(healthy.length),
    free: healthy
      .filter((id) => inUse.get(resource)?.has(id) !== true)
      .toSorted(compareText)
      .join(),
    unhealthy: unhealthy.length === 0 ? undefined : unhealthy.toSorted(compareText).join(),
  };
}
