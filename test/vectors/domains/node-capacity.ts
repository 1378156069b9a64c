import { nodeCapacity } from "../../../src/core/node/node-capacity.ts";
import { resourceList } from "../../../src/core/resource/resource-list.ts";
import type { Node } from "../../../src/model/generated/kubernetes.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

type Resources = Readonly<Record<string, string>>;

interface Input {
  readonly node: Node;
  readonly machineInfo: {
    readonly numCores: number;
    readonly memoryCapacity: number;
    readonly swapCapacity: number;
    readonly hugePages: readonly { readonly pageSizeKB: number; readonly numPages: number }[];
    readonly machineID: string;
    readonly systemUUID: string;
    readonly bootID: string;
  };
  readonly machineInfoError: boolean;
  readonly maxPods: number;
  readonly podsPerCore: number;
  readonly containerManagerCapacity: Resources | null;
  readonly devicePluginCapacity: Resources;
  readonly devicePluginAllocatable: Resources;
  readonly removedDevicePlugins: readonly string[];
  readonly reservation: Resources;
}

export const nodeCapacityDomain: VectorDomain = vectorDomain<Input>("node-capacity", (input) => {
  const { node, machineInfo: machine } = input;
  const { events, ...result } = nodeCapacity({
    nodeName: node.metadata?.name ?? "",
    status: node.status ?? {},
    machine: input.machineInfoError
      ? undefined
      : {
          cpuCount: machine.numCores,
          memoryBytes: BigInt(machine.memoryCapacity),
          swapBytes: BigInt(machine.swapCapacity),
          hugePages: machine.hugePages.map(({ pageSizeKB, numPages }) => ({
            pageSizeKb: pageSizeKB,
            count: numPages,
          })),
          machineId: machine.machineID,
          systemUuid: machine.systemUUID,
          bootId: machine.bootID,
        },
    maxPods: input.maxPods,
    podsPerCore: input.podsPerCore,
    ephemeralStorage: resourceList(input.containerManagerCapacity ?? {}).get("ephemeral-storage"),
    devices: {
      capacity: resourceList(input.devicePluginCapacity),
      allocatable: resourceList(input.devicePluginAllocatable),
      removed: input.removedDevicePlugins,
    },
    reservation: resourceList(input.reservation),
  });
  return {
    ...result,
    events: events.map(({ type, reason, message }) => `${type} ${reason} ${message}`),
  };
});
