import type { NodeStatus, NodeSystemInfo } from "../../model/generated/kubernetes.ts";
import type { MachineInfo } from "../../model/machine-info.ts";
import {
  formatQuantity,
  milliQuantity,
  mustParseQuantity,
  type Quantity,
  subtractQuantity,
  wholeQuantity,
} from "../../model/quantity.ts";
import { isExtendedResource } from "../../model/validate/resource-names.ts";
import {
  amountOf,
  hugePagesPrefix,
  type ResourceList,
  resourceList,
} from "../resource/resource-list.ts";
import type { NodeEvent } from "./node-event.ts";

export interface DeviceResources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Resources of device plugins that are gone. */
  readonly removed: readonly string[];
}

export interface NodeCapacityInput {
  readonly nodeName: string;
  readonly status: NodeStatus;
  /** Undefined when the machine could not be read. */
  readonly machine: MachineInfo | undefined;
  readonly maxPods: number;
  readonly podsPerCore: number;
  /** Undefined where local storage is not counted. */
  readonly ephemeralStorage: Quantity | undefined;
  readonly devices: DeviceResources;
  /** What pods cannot have of the capacity. */
  readonly reservation: ResourceList;
}

export interface NodeCapacityResult {
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly nodeInfo: NodeSystemInfo;
  readonly events: readonly NodeEvent[];
}

/** A node's system information before anything is known of it. */
const emptyNodeInfo: NodeSystemInfo = {
  machineID: "",
  systemUUID: "",
  bootID: "",
  kernelVersion: "",
  osImage: "",
  containerRuntimeVersion: "",
  kubeletVersion: "",
  kubeProxyVersion: "",
  operatingSystem: "",
  architecture: "",
};

/** What the node has and what pods can have of it; resources that others advertise stay as they are. */
export function nodeCapacity(input: NodeCapacityInput): NodeCapacityResult {
  const capacity = new Map([...resourceList(input.status.capacity), ...ownCapacity(input)]);
  const nodeInfo = input.status.nodeInfo ?? emptyNodeInfo;
  return {
    capacity: formatResourceList(capacity),
    allocatable: formatResourceList(allocatableOf(input, capacity)),
    nodeInfo: machineNodeInfo(nodeInfo, input.machine),
    events: rebootEvents(input.nodeName, nodeInfo.bootID, input.machine),
  };
}

/** Amounts as the API writes them. */
export function formatResourceList(list: ResourceList): Readonly<Record<string, string>> {
  return Object.fromEntries([...list].map(([name, amount]) => [name, formatQuantity(amount)]));
}

/** What a machine has of CPU, memory and huge pages. */
export function machineCapacity(machine: MachineInfo): Map<string, Quantity> {
  const hugePages = machine.hugePages.map(({ pageSizeKb, count }) => {
    const sizeBytes = BigInt(pageSizeKb) * 1024n;
    const size = formatQuantity(wholeQuantity(sizeBytes, "BinarySI"));
    const amount = wholeQuantity(sizeBytes * BigInt(count), "BinarySI");
    return [`${hugePagesPrefix}${size}`, amount] as const;
  });
  return new Map([
    ["cpu", milliQuantity(BigInt(machine.cpuCount) * 1000n, "DecimalSI")],
    ["memory", wholeQuantity(machine.memoryBytes, "BinarySI")],
    ...hugePages,
  ]);
}

function ownCapacity(input: NodeCapacityInput): ResourceList {
  const { machine, maxPods, podsPerCore, devices } = input;
  const pods = (count: number): Quantity => wholeQuantity(BigInt(count), "DecimalSI");
  if (machine === undefined) {
    return new Map([
      ["cpu", milliQuantity(0n, "DecimalSI")],
      ["memory", mustParseQuantity("0Gi")],
      ["pods", pods(maxPods)],
    ]);
  }
  const podCount = podsPerCore > 0 ? Math.min(machine.cpuCount * podsPerCore, maxPods) : maxPods;
  return new Map([
    ...machineCapacity(machine),
    ["pods", pods(podCount)],
    ...(input.ephemeralStorage === undefined
      ? []
      : [["ephemeral-storage", input.ephemeralStorage] as const]),
    ...devices.capacity,
    // Zero rather than absent shows that the resource is a device plugin's.
    ...devices.removed.map((name) => [name, wholeQuantity(0n, "DecimalSI")] as const),
  ]);
}

function allocatableOf(input: NodeCapacityInput, capacity: ResourceList): ResourceList {
  const kept = [...resourceList(input.status.allocatable)].filter(
    ([name]) => capacity.has(name) || !isExtendedResource(name),
  );
  const own = [...capacity].map(([name, amount]) => {
    const reserved = input.reservation.get(name);
    return [
      name,
      reserved === undefined ? amount : atLeastZero(subtractQuantity(amount, reserved)),
    ] as const;
  });
  const devices = input.machine === undefined ? [] : input.devices.allocatable;
  const allocatable = new Map([...kept, ...own, ...devices]);
  // Memory in huge pages is not available for anything else.
  for (const [name, amount] of capacity) {
    if (!name.startsWith(hugePagesPrefix)) continue;
    const memory = amountOf(allocatable, "memory");
    allocatable.set("memory", atLeastZero(subtractQuantity(memory, amount)));
  }
  return allocatable;
}

function atLeastZero(amount: Quantity): Quantity {
  return amount.unscaled < 0n ? wholeQuantity(0n, amount.format) : amount;
}

function machineNodeInfo(
  nodeInfo: NodeSystemInfo,
  machine: MachineInfo | undefined,
): NodeSystemInfo {
  if (machine === undefined) return nodeInfo;
  return {
    ...nodeInfo,
    machineID: machine.machineId,
    systemUUID: machine.systemUuid,
    bootID: machine.bootId,
    ...(machine.swapBytes === 0n ? {} : { swap: { capacity: Number(machine.swapBytes) } }),
  };
}

function rebootEvents(
  nodeName: string,
  knownBootId: string,
  machine: MachineInfo | undefined,
): readonly NodeEvent[] {
  if (machine === undefined || knownBootId === "" || knownBootId === machine.bootId) return [];
  const message = `Node ${nodeName} has been rebooted, boot id: ${machine.bootId}`;
  return [{ type: "Warning", reason: "Rebooted", message }];
}
